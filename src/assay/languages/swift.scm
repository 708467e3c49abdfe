; definitions
(class_declaration declaration_kind: ["class" "actor"] name: (type_identifier) @name body: (_) @body) @def.class
(class_declaration declaration_kind: "struct" name: (type_identifier) @name body: (_) @body) @def.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name body: (_) @body) @def.enum
(protocol_declaration name: (type_identifier) @name body: (_) @body) @def.interface
(class_declaration declaration_kind: "extension" name: (user_type) @name) @scope
(class_declaration declaration_kind: "extension" name: (user_type) @name (inheritance_specifier inherits_from: (_) @trait)) @scope
(typealias_declaration name: (type_identifier) @name [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @type) @def.type
(associatedtype_declaration name: (type_identifier) @name) @def.type
(enum_entry name: (simple_identifier) @name) @def.constant
(function_declaration name: (simple_identifier) @name return_type: (_)? @type body: (_) @body) @def.function
(protocol_function_declaration name: (simple_identifier) @name [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)]? @type) @def.function
(init_declaration "init" @name body: (_)? @body) @def.constructor
(deinit_declaration "deinit" @name body: (_) @body) @def.function
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (type_annotation (_) @type)) @def.property
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (type_annotation (_) @type)? value: (_)? @value) @def.variable
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) (type_annotation (_) @type)? computed_value: (_) @body) @def.property
(source_file (property_declaration (value_binding_pattern "let") name: (pattern bound_identifier: (simple_identifier) @name)) @def.constant)
((property_declaration (modifiers (property_modifier) @_static) (value_binding_pattern "let") name: (pattern bound_identifier: (simple_identifier) @name)) @def.constant
  (#eq? @_static "static"))

(class_declaration declaration_kind: ["class" "actor"] (inheritance_specifier inherits_from: (_) @base))
(class_declaration declaration_kind: ["struct" "enum"] (inheritance_specifier inherits_from: (_) @implements))
(protocol_declaration (inheritance_specifier inherits_from: (_) @base))
(attribute (user_type) @decorator)

; bindings
(parameter name: (simple_identifier) @param [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @type)
(lambda_parameter name: (simple_identifier) @param)
(for_statement item: (pattern bound_identifier: (simple_identifier) @loop) collection: (_) @value)
(if_statement bound_identifier: (simple_identifier) @local . condition: (_) @value)
(guard_statement bound_identifier: (simple_identifier) @local . condition: (_) @value)
(switch_pattern (pattern (pattern bound_identifier: (simple_identifier) @local)))
(catch_block error: (pattern (pattern bound_identifier: (simple_identifier) @local) (user_type) @type))
(type_parameter (type_identifier) @typeparam (user_type)? @type)
(lambda_literal) @lambda
(control_transfer_statement "return" result: (_) @return)

; names
(call_expression . [(simple_identifier) (navigation_expression)] @call (call_suffix (value_arguments) @args))
(call_expression . [(simple_identifier) (navigation_expression)] @call (call_suffix . (lambda_literal)))
(constructor_expression constructed_type: (_) @new)
(control_transfer_statement (throw_keyword) . [(call_expression . (_) @throw) (simple_identifier) @throw (navigation_expression) @throw])
(navigation_expression) @access
(navigation_expression target: (simple_identifier) @mention)
(value_argument value: (simple_identifier) @mention)
(comparison_expression (simple_identifier) @mention)
(equality_expression (simple_identifier) @mention)
(additive_expression (simple_identifier) @mention)
(multiplicative_expression (simple_identifier) @mention)
(conjunction_expression (simple_identifier) @mention)
(disjunction_expression (simple_identifier) @mention)
(nil_coalescing_expression (simple_identifier) @mention)
(prefix_expression operation: (bang) target: (simple_identifier) @mention)
(ternary_expression (simple_identifier) @mention)
(assignment result: (simple_identifier) @mention)
(directly_assignable_expression (simple_identifier) @mention)
(property_declaration value: (simple_identifier) @mention)
(control_transfer_statement result: (simple_identifier) @mention)
(for_statement collection: (simple_identifier) @mention)
(array_literal element: (simple_identifier) @mention)
(dictionary_literal (simple_identifier) @mention)
(tuple_expression value: (simple_identifier) @mention)
(interpolated_expression value: (simple_identifier) @mention)
(if_statement condition: (simple_identifier) @mention)
(guard_statement condition: (simple_identifier) @mention)
(switch_statement expr: (simple_identifier) @mention)
(statements (simple_identifier) @mention)
(range_expression (simple_identifier) @mention)
(type_annotation) @hint
(parameter [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(function_declaration [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(protocol_function_declaration [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(typealias_declaration [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(enum_type_parameters (user_type) @hint)
(as_expression [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(check_expression [(user_type) (array_type) (optional_type) (dictionary_type) (tuple_type) (function_type) (opaque_type) (existential_type)] @hint)
(constructor_expression constructed_type: (user_type (type_arguments) @hint))

; imports
(import_declaration (identifier) @module) @import
