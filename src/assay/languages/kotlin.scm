(package_header (qualified_identifier) @namespace)

; definitions
(class_declaration "class" name: (identifier) @name) @def.class
(class_declaration "interface" name: (identifier) @name) @def.interface
((class_declaration (modifiers (class_modifier) @_enum) name: (identifier) @name) @def.enum (#eq? @_enum "enum"))
(object_declaration name: (identifier) @name) @def.class
(object_literal (class_body) @body) @def.class
(type_alias type: (identifier) @name (_) @type) @def.type
(enum_entry (identifier) @name) @def.constant
(function_declaration name: (identifier) @name (function_value_parameters) . [(user_type) (nullable_type) (function_type)]? @type (function_body)? @body) @def.function
(function_declaration [(user_type) @receiver (nullable_type (user_type) @receiver)] . name: (identifier) @name (function_value_parameters) . [(user_type) (nullable_type) (function_type)]? @type (function_body)? @body) @def.function
(anonymous_initializer "init" @name (block) @body) @def.constructor
(secondary_constructor "constructor" @name) @def.constructor
(property_declaration (variable_declaration (identifier) @name [(user_type) (nullable_type) (function_type)]? @type)) @def.variable
(property_declaration (variable_declaration (identifier) @name) "=" . (_) @value) @def.variable
((property_declaration (modifiers (property_modifier) @_const) (variable_declaration (identifier) @name)) @def.constant (#eq? @_const "const"))
(property_declaration (variable_declaration (identifier) @name [(user_type) (nullable_type)]? @type) [(getter) (setter)]) @def.property
((property_declaration (modifiers (member_modifier) @_override) (variable_declaration (identifier) @name [(user_type) (nullable_type)]? @type)) @def.property
  (#eq? @_override "override"))
(class_declaration "interface" (class_body (property_declaration (variable_declaration (identifier) @name [(user_type) (nullable_type)]? @type)) @def.property))
(property_declaration [(user_type) @receiver (nullable_type (user_type) @receiver)] . (variable_declaration (identifier) @name [(user_type) (nullable_type)]? @type)) @def.property
(class_parameter ["val" "var"] (identifier) @name [(user_type) (nullable_type) (function_type)] @type) @def.field
((class_parameter (modifiers (member_modifier) @_override) ["val" "var"] (identifier) @name [(user_type) (nullable_type)] @type) @def.property
  (#eq? @_override "override"))

(delegation_specifier [(user_type) @base (constructor_invocation (user_type) @base) (explicit_delegation . (user_type) @base)])
(delegation_specifier (constructor_invocation (user_type) @call (value_arguments) @args))
(annotation [(user_type) @decorator (constructor_invocation (user_type) @decorator)])

; bindings
(parameter . (identifier) @param [(user_type) (nullable_type) (function_type)] @type)
(class_parameter . (identifier) @param [(user_type) (nullable_type) (function_type)] @type)
(lambda_parameters (variable_declaration (identifier) @param [(user_type) (nullable_type)]? @type))
(for_statement (variable_declaration (identifier) @loop) . (_) @value)
(multi_variable_declaration (variable_declaration (identifier) @local))
(catch_block (identifier) @local [(user_type) (nullable_type)] @type)
(type_parameter (identifier) @typeparam (user_type)? @type)
(lambda_literal) @lambda
(function_body . [(call_expression) (navigation_expression) (identifier)] @return)
(return_expression (_) @return)

; names
(call_expression . [(identifier) (navigation_expression)] @call (value_arguments) @args)
(call_expression . [(identifier) (navigation_expression)] @call . (annotated_lambda))
(call_expression . [(identifier) (navigation_expression)] @call . (type_arguments) . (annotated_lambda))
(constructor_delegation_call "this" @new (value_arguments) @args)
(constructor_delegation_call "super" @call)
(throw_expression [(call_expression) (identifier)] @throw)
(navigation_expression) @access
(navigation_expression . (identifier) @mention)
(callable_reference (identifier) @mention)
((string_literal (string_content) @_dollar . (string_content) @mention) (#eq? @_dollar "$") (#match? @mention "^\\w+\\s*$"))
(value_argument (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression (identifier) @mention)
(in_expression (identifier) @mention)
(is_expression (identifier) @mention)
(range_expression (identifier) @mention)
(assignment (identifier) @mention)
(property_declaration "=" . (identifier) @mention)
(return_expression (identifier) @mention)
(function_body . (identifier) @mention)
(index_expression (identifier) @mention)
(if_expression (identifier) @mention)
(when_subject (identifier) @mention)
(when_entry (identifier) @mention)
(for_statement (variable_declaration) . (identifier) @mention)
(interpolation (identifier) @mention)
(lambda_literal (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(infix_expression (identifier) @mention)
(parameter [(user_type) (nullable_type) (function_type)] @hint)
(class_parameter [(user_type) (nullable_type) (function_type)] @hint)
(variable_declaration [(user_type) (nullable_type) (function_type)] @hint)
(function_declaration (function_value_parameters) . [(user_type) (nullable_type) (function_type)] @hint)
(type_alias [(user_type) (nullable_type) (function_type)] @hint)
(type_parameter (user_type) @hint)
(call_expression (type_arguments) @hint)
(as_expression [(user_type) (nullable_type)] @hint)
(is_expression [(user_type) (nullable_type)] @hint)
(type_test [(user_type) (nullable_type)] @hint)
(catch_block (user_type) @hint)

; imports
(import (qualified_identifier) @module . (identifier)? @alias) @import
(import (qualified_identifier) @module "*" @star) @import
