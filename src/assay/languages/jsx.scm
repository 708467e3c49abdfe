; elements: a capitalised or dotted name is a component, and using it a call
((jsx_opening_element name: (identifier) @call) (#match? @call "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call) (#match? @call "^[A-Z]"))
(jsx_opening_element name: (member_expression) @call)
(jsx_self_closing_element name: (member_expression) @call)
(jsx_expression (identifier) @mention)
