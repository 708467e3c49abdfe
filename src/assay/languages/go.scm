; definitions
(function_declaration name: (identifier) @name result: (_)? @type body: (block)? @body) @def.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @receiver))
  name: (field_identifier) @name result: (_)? @type body: (block)? @body) @def.method
(type_spec name: (type_identifier) @name type: (struct_type) @body) @def.struct
(type_spec name: (type_identifier) @name type: (interface_type) @body) @def.interface
(type_spec name: (type_identifier) @name
  type: [(type_identifier) (qualified_type) (generic_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type)
    (function_type)] @type) @def.type
(type_alias name: (type_identifier) @name type: (_) @type) @def.type
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @name type: (_) @type) @def.field)))
(type_spec type: (interface_type (method_elem name: (field_identifier) @name result: (_)? @type) @def.method))
(type_spec type: (struct_type (field_declaration_list (field_declaration !name type: (_) @base))))
(type_spec type: (interface_type (type_elem . [(type_identifier) (qualified_type) (generic_type)] @base .)))

((const_spec name: (identifier) @name type: (_)? @type) @def.constant (#not-eq? @name "_"))
; the type of the constants above holds for those that say nothing
((const_declaration (const_spec type: (_) @type) (const_spec name: (identifier) @name !type !value) @def.constant) (#not-eq? @name "_"))
((var_spec name: (identifier) @name type: (_)? @type) @def.variable (#not-eq? @name "_"))
((var_spec . name: (identifier) @name value: (expression_list
  . [(call_expression) (identifier) (selector_expression) (index_expression) (unary_expression) (composite_literal)
    (type_conversion_expression)] @value)) @def.variable (#not-eq? @name "_"))
((var_spec . name: (identifier) @name
  value: (expression_list . (composite_literal type: [(slice_type) (array_type) (implicit_length_array_type) (map_type)] @type))) @def.variable
  (#not-eq? @name "_"))
((var_spec . name: (identifier) @name
  value: (expression_list . (call_expression function: (identifier) @_make arguments: (argument_list . (_) @type)))) @def.variable
  (#any-of? @_make "make" "new") (#not-eq? @name "_"))

; parameters and locals
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier) @local type: (_) @type)))
(function_declaration parameters: (parameter_list (parameter_declaration name: (identifier) @param type: (_) @type)))
(method_declaration parameters: (parameter_list (parameter_declaration name: (identifier) @param type: (_) @type)))
(func_literal parameters: (parameter_list (parameter_declaration name: (identifier) @local type: (_) @type)))
(func_literal result: (parameter_list (parameter_declaration name: (identifier) @local type: (_) @type)))
(function_declaration result: (parameter_list (parameter_declaration name: (identifier) @local type: (_) @type)))
(method_declaration result: (parameter_list (parameter_declaration name: (identifier) @local type: (_) @type)))
(variadic_parameter_declaration name: (identifier) @param) @type
(type_parameter_declaration name: (identifier) @typeparam type: (_) @type)

(short_var_declaration left: (expression_list (identifier) @local)) @after
(short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . [(identifier) (selector_expression) (index_expression) (unary_expression) (composite_literal)
    (type_conversion_expression)] @value)) @after
(short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . (slice_expression operand: (_) @value))) @after
; the results of one call, taken apart by their places
(short_var_declaration left: (expression_list (identifier) @local) @pattern right: (expression_list . (call_expression) @value .)) @after
(short_var_declaration left: (expression_list . (_) . (identifier) @local) right: (expression_list . (_) . (_) @value)) @after
(short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . (composite_literal type: [(slice_type) (array_type) (implicit_length_array_type) (map_type)] @type))) @after
(short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . (type_assertion_expression type: (_) @type))) @after
((short_var_declaration left: (expression_list . (identifier) @local)
  right: (expression_list . (call_expression function: (identifier) @_make arguments: (argument_list . (_) @type)))) @after
  (#any-of? @_make "make" "new"))
(range_clause left: (expression_list . (identifier) @local))
(range_clause left: (expression_list (_) . (identifier) @loop) right: (_) @value)
(receive_statement left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local) (type_case "case" . type: (_) @type @at . ":"))

; names
(call_expression function: [(identifier) (selector_expression) (parenthesized_expression)] @call arguments: (argument_list) @args)
(call_expression function: (index_expression operand: [(identifier) (selector_expression)] @call))
(type_conversion_expression type: (generic_type type: (_) @call))
(selector_expression) @access

(function_declaration parameters: (parameter_list (_ type: (_) @hint)))
(function_declaration result: (_) @hint)
(method_declaration parameters: (parameter_list (_ type: (_) @hint)))
(method_declaration result: (_) @hint)
(func_literal parameters: (parameter_list (_ type: (_) @hint)))
(func_literal result: (_) @hint)
(method_elem parameters: (parameter_list (_ type: (_) @hint)))
(method_elem result: (_) @hint)
(field_declaration name: (_) type: (_) @hint)
(var_spec type: (_) @hint)
(const_spec type: (_) @hint)
(type_spec type: [(type_identifier) (qualified_type) (generic_type) (pointer_type) (slice_type) (array_type) (map_type) (channel_type)
  (function_type)] @hint)
(type_alias type: (_) @hint)
(type_constraint) @hint
(type_arguments) @hint
(type_assertion_expression type: (_) @hint)
(type_case type: (_) @hint)
(type_conversion_expression type: [(pointer_type) (slice_type) (map_type) (array_type) (function_type)] @hint)
(argument_list [(slice_type) (map_type) (array_type) (channel_type) (pointer_type) (type_identifier) (qualified_type) (generic_type)] @hint)
(composite_literal type: [(slice_type) (map_type) (array_type) (implicit_length_array_type) (struct_type)] @hint)

(composite_literal type: [(type_identifier) (qualified_type)] @mention)
(composite_literal type: (generic_type type: (_) @mention))
(argument_list (identifier) @mention)
(expression_list (identifier) @mention)
(literal_value (literal_element (identifier) @mention))
(keyed_element value: (literal_element (identifier) @mention))
(composite_literal type: [(slice_type) (map_type) (array_type) (implicit_length_array_type)]
  body: (literal_value (keyed_element key: (literal_element (identifier) @mention))))
(selector_expression operand: (identifier) @mention)
(index_expression operand: (identifier) @mention)
(index_expression index: (identifier) @mention)
(slice_expression operand: (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression operand: (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(range_clause right: (identifier) @mention)
(if_statement condition: (identifier) @mention)
(expression_switch_statement value: (identifier) @mention)
(send_statement (identifier) @mention)
(type_assertion_expression operand: (identifier) @mention)
(type_switch_statement value: (identifier) @mention)
(inc_statement (identifier) @mention)
(dec_statement (identifier) @mention)

; imports
(import_spec path: (_) @module) @import
(import_spec name: (package_identifier) @alias path: (_) @module) @import
