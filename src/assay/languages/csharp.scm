; definitions
(namespace_declaration name: (_) @name body: (_) @body) @def.namespace
(file_scoped_namespace_declaration name: (_) @name) @def.namespace @open
(class_declaration name: (identifier) @name body: (_)? @body) @def.class
(record_declaration name: (identifier) @name body: (_)? @body) @def.class
(struct_declaration name: (identifier) @name body: (_)? @body) @def.struct
(interface_declaration name: (identifier) @name body: (_)? @body) @def.interface
(enum_declaration name: (identifier) @name body: (_)? @body) @def.enum
(delegate_declaration type: (_) @value name: (identifier) @name) @def.type
(method_declaration returns: (_) @type name: (identifier) @name body: (_)? @body) @def.method
(local_function_statement type: (_) @type name: (identifier) @name body: (_)? @body) @def.function
(constructor_declaration name: (identifier) @name body: (_)? @body) @def.constructor
(property_declaration type: (_) @type name: (identifier) @name) @def.property
(indexer_declaration type: (_) @type "this" @name) @def.property @element
(event_declaration type: (_) @type name: (identifier) @name) @def.field
(enum_member_declaration name: (identifier) @name) @def.constant
(record_declaration (parameter_list (parameter type: (_) @type name: (identifier) @name) @def.property))

; a declaration of one field is the field; of several, each declarator is one
(field_declaration (variable_declaration type: (_) @type . (variable_declarator name: (identifier) @name) .)) @def.field
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name) @def.field))
(field_declaration
  (modifier "const")
  (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name) @def.constant))
(event_field_declaration (variable_declaration type: (_) @type . (variable_declarator name: (identifier) @name) .)) @def.field
(event_field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @name) @def.field))

(base_list [(identifier) (generic_name) (qualified_name) (alias_qualified_name)] @base)
(primary_constructor_base_type type: (_) @base)
(attribute) @decorator

; parameters and locals
(method_declaration parameters: (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
(method_declaration parameters: (parameter_list type: (_) @type name: (identifier) @param @variadic))
(constructor_declaration parameters: (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
(constructor_declaration parameters: (parameter_list type: (_) @type name: (identifier) @param @variadic))
(local_function_statement parameters: (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
(class_declaration (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
(struct_declaration (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
(bracketed_parameter_list (parameter type: (_) @type name: (identifier) @param))
(operator_declaration parameters: (parameter_list (parameter type: (_) @type name: (identifier) @param . (_)? @optional)))
((parameter_list . (parameter (modifier) @_this type: (_) @type) @extension) (#eq? @_this "this"))
(lambda_expression parameters: (implicit_parameter) @local)
(lambda_expression parameters: (parameter_list (parameter type: (_)? @type name: (identifier) @local)))
(anonymous_method_expression parameters: (parameter_list (parameter type: (_)? @type name: (identifier) @local)))
(local_declaration_statement
  (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local . (_)? @value)))
(using_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local . (_)? @value)))
(for_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @local . (_)? @value)))
(foreach_statement type: (_) @type left: (identifier) @loop right: (_) @value)
(foreach_statement left: (tuple_pattern (identifier) @local))
(declaration_expression
  type: [(identifier) (implicit_type) (generic_name) (predefined_type) (qualified_name) (nullable_type) (array_type)] @type
  name: (identifier) @local)
(tuple_pattern (identifier) @local)
(catch_declaration type: (_) @type name: (identifier) @local)
(declaration_pattern type: (_) @type name: (identifier) @local)
(recursive_pattern type: (_) @type name: (identifier) @local)
(var_pattern name: (identifier) @local)
(from_clause name: (identifier) @loop . (_) @value)
(type_parameter name: (identifier) @typeparam)
(type_parameter_constraints_clause . (identifier) @typeparam . (type_parameter_constraint type: (_) @type))
(return_statement (_) @return)
(arrow_expression_clause (_) @return)

; names
(invocation_expression
  function: [(identifier) (generic_name) (member_access_expression) (conditional_access_expression)] @call
  arguments: (_) @args)
(constructor_initializer ["base" "this"] @call (argument_list) @args)
(object_creation_expression type: (_) @new arguments: (_)? @args)
(variable_declaration type: (_) @type (variable_declarator (implicit_object_creation_expression (argument_list) @args) @new))
(property_declaration type: (_) @type value: (implicit_object_creation_expression (argument_list) @args) @new)
(object_creation_expression
  type: (_) @type
  initializer: (initializer_expression (assignment_expression left: (identifier) @access)))
(member_access_expression) @access
(conditional_access_expression) @access
(element_access_expression) @access
(throw_statement (object_creation_expression type: (_) @throw))
(throw_statement [(identifier) (invocation_expression)] @throw)
(throw_expression (object_creation_expression type: (_) @throw))

(method_declaration returns: (_) @hint)
(local_function_statement type: (_) @hint)
(delegate_declaration type: (_) @hint)
(property_declaration type: (_) @hint)
(indexer_declaration type: (_) @hint)
(event_declaration type: (_) @hint)
(operator_declaration type: (_) @hint)
(parameter type: (_) @hint)
(parameter_list type: (_) @hint)
(variable_declaration type: (_) @hint)
(foreach_statement type: (_) @hint)
(declaration_expression type: [(identifier) (generic_name) (qualified_name) (nullable_type) (array_type)] @hint)
(catch_declaration type: (_) @hint)
(declaration_pattern type: (_) @hint)
(recursive_pattern type: (_) @hint)
(type_pattern type: (_) @hint)
(cast_expression type: (_) @hint)
(as_expression right: (_) @hint)
(is_expression right: (_) @hint)
(type_parameter_constraint type: (_) @hint)
(type_argument_list) @hint
(typeof_expression type: [(identifier) (qualified_name) (generic_name)] @mention)

; the grammar takes the product of two names in an argument for the declaration of a pointer
(declaration_expression type: (pointer_type type: (identifier) @mention))
(declaration_expression type: (pointer_type) name: (identifier) @mention)
(declaration_expression type: (pointer_type type: (qualified_name) @access))
(declaration_expression type: (pointer_type type: (qualified_name qualifier: (qualified_name) @access)))
(declaration_expression type: (pointer_type type: (qualified_name qualifier: (identifier) @mention)))
(declaration_expression type: (pointer_type type: (qualified_name qualifier: (qualified_name qualifier: (identifier) @mention))))

(member_access_expression expression: (identifier) @mention)
(member_access_expression expression: (generic_name) @mention)
(conditional_access_expression condition: (identifier) @mention)
(element_access_expression expression: (identifier) @mention)
(argument (identifier) @mention .)
(attribute_argument (identifier) @mention .)
(variable_declarator name: (_) (identifier) @mention)
(property_declaration value: (identifier) @mention)
(expression_statement (assignment_expression left: (identifier) @mention))
(arrow_expression_clause (assignment_expression left: (identifier) @mention))
(lambda_expression body: (assignment_expression left: (identifier) @mention))
(assignment_expression right: (identifier) @mention)
(return_statement (identifier) @mention)
(arrow_expression_clause (identifier) @mention)
(lambda_expression body: (identifier) @mention)
(binary_expression left: (identifier) @mention)
(binary_expression right: (identifier) @mention)
(prefix_unary_expression (identifier) @mention)
(postfix_unary_expression (identifier) @mention)
(conditional_expression (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(cast_expression value: (identifier) @mention)
(as_expression left: (identifier) @mention)
(is_expression left: (identifier) @mention)
(is_pattern_expression expression: (identifier) @mention)
(switch_expression . (identifier) @mention)
(switch_expression_arm (identifier) @mention .)
(switch_statement value: (identifier) @mention)
(constant_pattern (identifier) @mention)
(if_statement condition: (identifier) @mention)
(while_statement condition: (identifier) @mention)
(foreach_statement right: (identifier) @mention)
(interpolation (identifier) @mention)
(initializer_expression (identifier) @mention)
(await_expression (identifier) @mention)
(yield_statement (identifier) @mention)
(lock_statement (identifier) @mention)
(using_statement (identifier) @mention)
(from_clause (identifier) @mention .)
(enum_member_declaration value: (identifier) @mention)
(parameter name: (_) (identifier) @mention)

; imports
(using_directive !name [(qualified_name) (identifier)] @module) @import
(using_directive name: (identifier) @alias [(qualified_name) (identifier) (generic_name)] @module) @import
