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
