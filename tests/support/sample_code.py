"""Sample source code used by several tests."""

BASKETS = '''\
class Basket:
    """What a customer is going to buy."""

    def total_price(self):
        """Adds up the prices of the goods."""
        return discounted(sum(good.price for good in self.goods))

    def price_of_goods(self):
        return self.total_price()


def discounted(amount):
    return amount * 0.9


def invoice(basket):
    return basket.total_price()
'''

OPERATIONS = '''\
class Operation:
    """Something that is done to a table."""

    def apply(self, table):
        return table


class Rename(Operation):
    def apply(self, table):
        return describe(table)


class Lonely:
    pass


def describe(table):
    return table
'''
STORE = """\
class Store:
    def save(self, row):
        return encode(row)


def encode(row):
    return str(row)
"""
