; functions
(function_declaration name: [(identifier) (dot_index_expression) (method_index_expression)] @name body: (_)? @body) @def.function
(assignment_statement (variable_list . name: [(identifier) (dot_index_expression)] @name .) (expression_list . value: (function_definition body: (_)? @body) .)) @def.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @def.function

; classes: a table that is its own __index, or has a metatable
((chunk
  (variable_declaration (assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (table_constructor)))) @def.class
  (assignment_statement (variable_list . name: (dot_index_expression table: (identifier) @_table field: (identifier) @_index) .)))
  (#eq? @_index "__index") (#eq? @_table @name))
((chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name .)
    (expression_list . value: (function_call name: (identifier) @_set arguments: (arguments . (table_constructor) . (table_constructor)))))) @def.class)
  (#eq? @_set "setmetatable"))
((function_call name: (identifier) @_set arguments: (arguments . (table_constructor) . (table_constructor (field name: (identifier) @_index value: [(identifier) (dot_index_expression)] @base))))
  (#eq? @_set "setmetatable") (#eq? @_index "__index"))
((chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name .)
    (expression_list . value: (function_call name: [
      (method_index_expression table: (identifier) @base method: (identifier) @_extend)
      (dot_index_expression table: (identifier) @base field: (identifier) @_extend)])))) @def.class)
  (#match? @_extend "^(extend|subclass|derive|inherit)$"))
((function_call name: [
    (method_index_expression table: (identifier) @base method: (identifier) @_extend)
    (dot_index_expression table: (identifier) @base field: (identifier) @_extend)])
  (#match? @_extend "^(extend|subclass|derive|inherit)$"))

; variables and fields
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (identifier) @name) (expression_list . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (_) . name: (identifier) @name) (expression_list . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) . value: (_) @value))) @def.variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @def.variable)
(block (variable_declaration (assignment_statement (variable_list . name: (identifier) @local) (expression_list . value: (_) @value))))
(block (variable_declaration (assignment_statement (variable_list . name: (_) . name: (identifier) @local) (expression_list . value: (_) . value: (_) @value))))
(block (variable_declaration (assignment_statement (variable_list . name: (_) . name: (_) . name: (identifier) @local) (expression_list . value: (_) . value: (_) . value: (_) @value))))
(block (variable_declaration (assignment_statement (variable_list name: (identifier) @local))))
(chunk (assignment_statement (variable_list . name: (identifier) @name .) (expression_list . value: (_) @value)) @def.variable)
((chunk (assignment_statement (variable_list . name: (dot_index_expression table: (identifier) field: (identifier) @_field) @name .) (expression_list . value: [
    (number) (string) (true) (false) (nil) (table_constructor) (identifier) (dot_index_expression) (function_call) (binary_expression) (unary_expression)
  ] @value)) @def.field)
  (#not-match? @_field "^(__.*|[A-Z][A-Z0-9_]*)$"))
((chunk (assignment_statement (variable_list . name: (dot_index_expression table: (identifier) field: (identifier) @_field) @name .)) @def.constant)
  (#match? @_field "^[A-Z][A-Z0-9_]*$"))
((assignment_statement (variable_list . name: (dot_index_expression table: (identifier) @self field: (identifier) @name) .) (expression_list . value: (_) @value)) @def.field
  (#eq? @self "self"))
; setmetatable({}, Class) makes an object of Class
((assignment_statement (variable_list . name: (identifier) @local .) (expression_list . value: (function_call name: (identifier) @_set arguments: (arguments (_) . (identifier) @value .))))
  (#eq? @_set "setmetatable"))
((return_statement (expression_list . (function_call name: (identifier) @_set arguments: (arguments (_) . (identifier) @return .)) .))
  (#eq? @_set "setmetatable"))
(parameters name: (identifier) @param)
(for_generic_clause (variable_list name: (identifier) @local))
(for_numeric_clause name: (identifier) @local)
(function_definition) @lambda
(return_statement (expression_list . (_) @return .))

; names
(function_call name: [(identifier) (dot_index_expression) (method_index_expression)] @call arguments: (_) @args)
(dot_index_expression) @access
(dot_index_expression table: (identifier) @mention)
(method_index_expression table: (identifier) @mention)
(bracket_index_expression table: (identifier) @mention)
(arguments (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression operand: (identifier) @mention)
(expression_list value: (identifier) @mention)
(return_statement (expression_list (identifier) @mention))
(field value: (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(if_statement condition: (identifier) @mention)

; imports
((variable_declaration (assignment_statement (variable_list . name: (identifier) @alias .) (expression_list . value: (function_call name: (identifier) @_require
    arguments: (arguments . (string content: (string_content) @module)))))) @import @default
  (#eq? @_require "require"))
((chunk (function_call name: (identifier) @_require arguments: (arguments . (string content: (string_content) @module))) @import)
  (#eq? @_require "require"))
(chunk (return_statement (expression_list . (identifier) @imported .)) @import @default @export)
