(package_clause name: (package_identifier) @namespace)

; definitions
(class_definition name: (identifier) @name) @def.class
(object_definition name: (identifier) @name) @def.class
(package_object name: (identifier) @name) @def.class
(trait_definition name: (identifier) @name) @def.trait
(enum_definition name: (identifier) @name) @def.enum
(simple_enum_case name: (identifier) @name) @def.constant
(full_enum_case name: (identifier) @name) @def.constant
(type_definition name: (type_identifier) @name type: (_)? @type) @def.type
(function_definition name: [(identifier) (operator_identifier)] @name return_type: (_)? @type body: (_) @body) @def.function
(function_declaration name: [(identifier) (operator_identifier)] @name return_type: (_)? @type) @def.function
(given_definition name: (identifier) @name return_type: (_)? @type) @def.variable
(val_definition pattern: (identifier) @name type: (_)? @type value: (_) @value) @def.variable
(var_definition pattern: (identifier) @name type: (_)? @type value: (_) @value) @def.variable
(val_declaration name: (identifier) @name type: (_) @type) @def.variable
(var_declaration name: (identifier) @name type: (_) @type) @def.variable
((object_definition body: (template_body (val_definition pattern: (identifier) @name) @def.constant)) (#match? @name "^[A-Z]"))
(class_parameter ["val" "var"] name: (identifier) @name type: (_) @type) @def.field
(class_definition "case" class_parameters: (class_parameters (class_parameter name: (identifier) @name type: (_) @type) @def.field))
(extension_definition parameters: (parameters (parameter type: (_) @name))) @scope

(extends_clause [(type_identifier) (generic_type) (stable_type_identifier)] @base)
(extends_clause . type: (_) @call . arguments: (_) @args)
(annotation name: (_) @decorator)

; bindings
(parameter name: (identifier) @param type: (_) @type)
(class_parameter . name: (identifier) @param type: (_) @type)
(binding name: (identifier) @param type: (_)? @type)
(lambda_expression parameters: (identifier) @param)
(enumerator . (identifier) @loop . (_) @value)
(capture_pattern name: (identifier) @local)
(typed_pattern pattern: (identifier) @local type: (_) @type)
(case_class_pattern pattern: (identifier) @local)
(tuple_pattern (identifier) @local)
(type_parameters name: (identifier) @typeparam)
(lambda_expression) @lambda
(call_expression arguments: (block) @lambda)
(function_definition !return_type body: [(call_expression) (instance_expression) (identifier) (field_expression)] @return)

; names
(call_expression function: [(identifier) (field_expression)] @call arguments: (arguments) @args)
(call_expression function: [(identifier) (field_expression)] @call arguments: [(block) (case_block)])
(call_expression function: (generic_function function: (_) @call) arguments: (_))
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @new arguments: (_)? @args)
(throw_expression (instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)] @throw))
(throw_expression (call_expression function: (_) @throw))
(field_expression) @access
(field_expression value: (identifier) @mention)
(generic_function function: (identifier) @mention)
(arguments (identifier) @mention)
(infix_expression left: (identifier) @mention)
(infix_expression right: (identifier) @mention)
(prefix_expression (identifier) @mention)
(assignment_expression (identifier) @mention)
(interpolation (identifier) @mention)
(interpolation (block (identifier) @mention))
(block (identifier) @mention .)
(function_definition body: (identifier) @mention)
(val_definition value: (identifier) @mention)
(var_definition value: (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(tuple_expression (identifier) @mention)
(if_expression consequence: (identifier) @mention)
(if_expression alternative: (identifier) @mention)
(match_expression value: (identifier) @mention)
(case_clause body: (identifier) @mention)
(case_clause pattern: (stable_identifier) @mention)
(case_clause pattern: (identifier) @mention)
(case_class_pattern type: (_) @mention)
(enumerator (identifier) . (identifier) @mention)
(for_expression body: (identifier) @mention)
(lambda_expression (identifier) @mention .)
(return_expression (identifier) @mention)
(parameter type: (_) @hint)
(class_parameter type: (_) @hint)
(val_definition type: (_) @hint)
(var_definition type: (_) @hint)
(val_declaration type: (_) @hint)
(var_declaration type: (_) @hint)
(function_definition return_type: (_) @hint)
(function_declaration return_type: (_) @hint)
(type_definition type: (_) @hint)
(generic_function type_arguments: (_) @hint)
(typed_pattern type: (_) @hint)
(ascription_expression type: (_) @hint)

; imports: the path is the text of the import up to its selectors
(import_declaration (identifier) .) @module @import
(import_declaration (namespace_selectors (identifier) @imported)) @module @import
(import_declaration (namespace_selectors (arrow_renamed_identifier name: (identifier) @imported alias: (identifier) @alias))) @module @import
(import_declaration [(namespace_wildcard) (namespace_selectors (namespace_wildcard))] @star) @module @import
