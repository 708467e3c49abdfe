; definitions
(package_declaration [(scoped_identifier) (identifier)] @namespace)
(class_declaration name: (identifier) @name body: (_) @body) @def.class
(record_declaration name: (identifier) @name body: (_) @body) @def.class
(interface_declaration name: (identifier) @name body: (_) @body) @def.interface
(annotation_type_declaration name: (identifier) @name body: (_) @body) @def.interface
(enum_declaration name: (identifier) @name body: (_) @body) @def.enum
(object_creation_expression (class_body) @body) @def.class
(method_declaration type: (_) @type name: (identifier) @name body: (_)? @body) @def.method
(annotation_type_element_declaration type: (_) @type name: (identifier) @name) @def.method
(constructor_declaration name: (identifier) @name body: (_) @body) @def.constructor
(compact_constructor_declaration name: (identifier) @name body: (_) @body) @def.constructor
(enum_constant name: (identifier) @name) @def.constant
(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @name) @def.field))

; a declaration of one field is the field; of several, each declarator is one
(field_declaration type: (_) @type . declarator: (variable_declarator name: (identifier) @name value: (_)? @value) . ";") @def.field
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name value: (_)? @value) @def.field)
(field_declaration (modifiers "static" "final") type: (_) @type declarator: (variable_declarator name: (identifier) @name) @def.constant)
(field_declaration (modifiers "final" "static") type: (_) @type declarator: (variable_declarator name: (identifier) @name) @def.constant)
(constant_declaration type: (_) @type . declarator: (variable_declarator name: (identifier) @name value: (_)? @value) . ";") @def.constant
(constant_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @name value: (_)? @value) @def.constant)

(superclass (_) @base)
(extends_interfaces (type_list (_) @base))
(super_interfaces (type_list (_) @implements))
(object_creation_expression type: (_) @base (class_body))
(marker_annotation name: (_) @decorator)
(annotation name: (_) @decorator arguments: (_) @args)

; parameters and locals
(method_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @param)))
(constructor_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @param)))
(spread_parameter (_) @type . (variable_declarator name: (identifier) @param @variadic))
(record_declaration
  parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @param))
  body: (class_body (compact_constructor_declaration body: (_) @at)))
(lambda_expression parameters: (identifier) @local)
(lambda_expression parameters: (inferred_parameters (identifier) @local))
(lambda_expression parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @local)))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @local value: (_)? @value))
(enhanced_for_statement type: (_) @type name: (identifier) @loop value: (_) @value)
(resource type: (_) @type name: (identifier) @local value: (_) @value)
(catch_formal_parameter (catch_type . (_) @type) name: (identifier) @local)
(instanceof_expression right: (_) @type name: (identifier) @local)
(type_pattern (_) @type (identifier) @local)
(record_pattern_component (_) @type (identifier) @local)
(type_parameter . (type_identifier) @typeparam (type_bound . (_) @type)?)
(return_statement (_) @return)

; names
(method_invocation name: (identifier) @callee arguments: (_) @args) @call
(explicit_constructor_invocation constructor: (_) @call arguments: (_) @args)
(object_creation_expression type: (_) @new arguments: (_) @args)
(field_access) @access
(method_reference) @access
(throw_statement (object_creation_expression type: (_) @throw))
(throw_statement [(identifier) (method_invocation)] @throw)
(throws (_) @throw)

(method_declaration type: (_) @hint)
(annotation_type_element_declaration type: (_) @hint)
(formal_parameter type: (_) @hint)
(spread_parameter . (modifiers)? . (_) @hint)
(field_declaration type: (_) @hint)
(constant_declaration type: (_) @hint)
(local_variable_declaration type: (_) @hint)
(enhanced_for_statement type: (_) @hint)
(resource type: (_) @hint)
(catch_type (_) @hint)
(instanceof_expression right: (_) @hint)
(type_pattern . (_) @hint)
(cast_expression type: (_) @hint)
(type_bound (_) @hint)
(type_arguments) @hint
(array_creation_expression type: (_) @hint)
(class_literal (type_identifier) @mention)

(method_invocation object: (identifier) @mention)
(field_access object: (identifier) @mention)
(method_reference . (identifier) @mention)
(argument_list (identifier) @mention)
(variable_declarator value: (identifier) @mention)
(assignment_expression left: (identifier) @mention)
(assignment_expression right: (identifier) @mention)
(return_statement (identifier) @mention)
(binary_expression left: (identifier) @mention)
(binary_expression right: (identifier) @mention)
(unary_expression (identifier) @mention)
(update_expression (identifier) @mention)
(ternary_expression (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(cast_expression value: (identifier) @mention)
(array_access (identifier) @mention)
(array_initializer (identifier) @mention)
(dimensions_expr (identifier) @mention)
(enhanced_for_statement value: (identifier) @mention)
(for_statement condition: (identifier) @mention)
(instanceof_expression left: (identifier) @mention)
(lambda_expression body: (identifier) @mention)
(switch_label (identifier) @mention)
(switch_rule (expression_statement (identifier) @mention))
(yield_statement (identifier) @mention)
(assert_statement (identifier) @mention)
(resource (identifier) @mention .)
(element_value_pair value: (identifier) @mention)
(annotation_argument_list (identifier) @mention)
(element_value_array_initializer (identifier) @mention)

; imports
(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @imported) . ";") @import
(import_declaration (_) @module (asterisk) @imported) @import
