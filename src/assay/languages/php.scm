; definitions
(namespace_definition name: (namespace_name) @name body: (_) @body) @def.namespace
(namespace_definition name: (namespace_name) @name !body) @def.namespace @open
(function_definition name: (name) @name return_type: (_)? @type body: (_) @body) @def.function
(method_declaration name: (name) @name return_type: (_)? @type body: (_)? @body) @def.function
(class_declaration name: (name) @name body: (_) @body) @def.class
(interface_declaration name: (name) @name body: (_) @body) @def.interface
(trait_declaration name: (name) @name body: (_) @body) @def.trait
(enum_declaration name: (name) @name body: (_) @body) @def.enum
(object_creation_expression (anonymous_class body: (_) @body) @def.class)
(enum_case name: (name) @name) @def.constant
(const_declaration (const_element (name) @name (_) @value)) @def.constant
(property_declaration type: (_)? @type (property_element name: (variable_name (name) @name) default_value: (_)? @value)) @def.field
(property_promotion_parameter type: (_)? @type name: (variable_name (name) @name) @self) @def.field
((assignment_expression left: (member_access_expression object: (variable_name) @self name: (name) @name) right: (_) @value) @def.field
  (#eq? @self "$this"))
(assignment_expression left: (variable_name) @name right: (_) @value) @def.variable
((function_call_expression function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))) @def.constant
  (#eq? @_define "define"))

(base_clause [(name) (qualified_name)] @base)
(class_interface_clause [(name) (qualified_name)] @implements)
(use_declaration [(name) (qualified_name)] @implements)
(attribute [(name) (qualified_name)] @decorator)

; bindings
(simple_parameter type: (_)? @type name: (variable_name) @param)
(variadic_parameter name: (variable_name) @param)
(property_promotion_parameter type: (_)? @type name: (variable_name) @param)
(foreach_statement . (_) @value . (variable_name) @loop)
(foreach_statement . (_) @value . (pair (_) . (variable_name) @loop))
(catch_clause type: (type_list . (named_type) @type) name: (variable_name) @local)
(list_literal (variable_name) @local)
(anonymous_function) @lambda
(arrow_function) @lambda
(return_statement (_) @return)

; names
(function_call_expression function: [(name) (qualified_name)] @call arguments: (_) @args)
(member_call_expression name: (name) @callee arguments: (_) @args) @call
(nullsafe_member_call_expression name: (name) @callee arguments: (_) @args) @call
(scoped_call_expression name: (name) @callee arguments: (_) @args) @call
(object_creation_expression [(name) (qualified_name)] @new (arguments)? @args)
(throw_expression (object_creation_expression [(name) (qualified_name)] @throw))
(throw_expression (variable_name) @throw)
(member_access_expression) @access
(nullsafe_member_access_expression) @access
(scoped_property_access_expression) @access
(class_constant_access_expression) @access
(class_constant_access_expression . [(name) (qualified_name)] @mention)
(scoped_call_expression scope: [(name) (qualified_name)] @mention)
(scoped_property_access_expression scope: [(name) (qualified_name)] @mention)
(binary_expression right: [(name) (qualified_name)] @mention)
(binary_expression left: [(name) (qualified_name)] @mention)
(argument [(name) (qualified_name)] @mention)
(return_statement [(name) (qualified_name)] @mention)
(array_element_initializer [(name) (qualified_name)] @mention)
(conditional_expression [(name) (qualified_name)] @mention)
(assignment_expression right: [(name) (qualified_name)] @mention)
(property_element default_value: [(name) (qualified_name)] @mention)
(const_element (name) (name) @mention)
(binary_expression right: [(name) (qualified_name)] @mention)
(parenthesized_expression [(name) (qualified_name)] @mention)
(simple_parameter default_value: [(name) (qualified_name)] @mention)
(named_type) @hint

; imports
(namespace_use_declaration (namespace_use_clause . [(name) (qualified_name)] @module alias: (name)? @alias) @import)
(namespace_use_declaration (namespace_name) @module body: (namespace_use_group (namespace_use_clause . (name) @imported alias: (name)? @alias) @import))
