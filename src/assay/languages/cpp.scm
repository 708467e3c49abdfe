; functions and methods: with a body, and declarations; constructors have no type of their own
(function_definition type: (_) @type declarator: [
    (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
  ] body: (_) @body) @def.function
(function_definition type: (_) @type declarator: [
    (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
  ] [(default_method_clause) (delete_method_clause)]) @def.function
(declaration type: (_) @type declarator: [
    (function_declarator declarator: [(identifier) (qualified_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (qualified_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (qualified_identifier) (operator_name)] @name))
  ]) @def.function
(field_declaration type: (_) @type declarator: [
    (function_declarator declarator: [(field_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))
  ]) @def.function
(field_declaration_list (function_definition !type declarator: (function_declarator declarator: (identifier) @name) body: (_) @body) @def.constructor)
(field_declaration_list (function_definition !type declarator: (function_declarator declarator: (identifier) @name) [(default_method_clause) (delete_method_clause)] @body) @def.constructor)
(field_declaration_list (declaration !type declarator: (function_declarator declarator: (identifier) @name)) @def.constructor)
(field_declaration_list (template_declaration (function_definition !type declarator: (function_declarator declarator: (identifier) @name) body: (_) @body)) @def.constructor)
(function_definition !type declarator: (function_declarator declarator: (qualified_identifier name: [
    (identifier) (qualified_identifier name: (identifier)) (qualified_identifier name: (qualified_identifier name: (identifier)))
  ]) @name) body: (_) @body) @def.constructor
(function_definition !type declarator: (function_declarator declarator: (qualified_identifier name: (destructor_name)) @name) body: (_) @body) @def.function
(function_definition !type declarator: (function_declarator declarator: (destructor_name) @name) [(compound_statement) (default_method_clause)] @body) @def.function
(declaration !type declarator: (function_declarator declarator: (destructor_name) @name)) @def.function
(template_declaration (function_definition type: (_) @type declarator: [
    (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name)
    (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
    (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))
  ] body: (_) @body)) @def.function

; tests of googletest: TEST(Suite, Name) { … }
((function_definition !type declarator: (function_declarator declarator: (identifier) @test
    parameters: (parameter_list (parameter_declaration) . (parameter_declaration type: (type_identifier) @name))) body: (_) @body) @def.function
  (#match? @test "^(TEST|TEST_F|TEST_P|TYPED_TEST)$"))

; types
(namespace_definition name: (_) @name body: (_) @body) @def.namespace
(class_specifier name: [(type_identifier) (qualified_identifier) (template_type)] @name body: (_) @body) @def.class
(struct_specifier name: [(type_identifier) (qualified_identifier) (template_type)] @name body: (_) @body) @def.struct
(union_specifier name: (type_identifier) @name body: (_) @body) @def.struct
(enum_specifier name: (type_identifier) @name body: (_) @body) @def.enum
(template_declaration (class_specifier name: (type_identifier) @name body: (_) @body)) @def.class
(template_declaration (struct_specifier name: (type_identifier) @name body: (_) @body)) @def.struct
(type_definition type: (struct_specifier !name body: (_) @body) declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @def.enum
(type_definition type: [
    (type_identifier) (primitive_type) (sized_type_specifier) (qualified_identifier) (template_type) (struct_specifier name: (_)) (enum_specifier name: (_))
  ] @type declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
  ]) @def.type
(alias_declaration name: (type_identifier) @name type: (_) @type) @def.type
(template_declaration (alias_declaration name: (type_identifier) @name type: (_) @type)) @def.type
(concept_definition name: (identifier) @name) @def.type
(enumerator name: (identifier) @name) @def.constant
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(field_declaration type: (_) @type declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
    (reference_declarator (field_identifier) @name)
    (array_declarator declarator: (field_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
  ] default_value: (_)? @value) @def.field
((field_declaration (type_qualifier) @_const type: (_) @type declarator: (field_identifier) @name default_value: (_)) @def.constant (#match? @_const "^const"))

; macros with a value or parameters
(preproc_def name: (identifier) @name value: (_) @body) @def.macro
(preproc_function_def name: (identifier) @name value: (_)? @body) @def.macro

; variables, locals
(declaration type: [
    (type_identifier) (primitive_type) (sized_type_specifier) (qualified_identifier) (template_type) (struct_specifier) (class_specifier) (enum_specifier) (union_specifier)
  ] @type declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (reference_declarator (identifier) @name)
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
    (init_declarator declarator: [
        (identifier) @name
        (qualified_identifier) @name
        (pointer_declarator declarator: (identifier) @name)
        (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
        (reference_declarator (identifier) @name)
        (array_declarator declarator: (identifier) @name)
        (array_declarator declarator: (pointer_declarator declarator: (identifier) @name))
        (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
      ] value: (_) @value)
  ]) @def.variable
(declaration type: (placeholder_type_specifier) declarator: (init_declarator declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (reference_declarator (identifier) @name)
  ] value: (_) @value)) @def.variable
((declaration (type_qualifier) @_const type: (_) declarator: [
    (init_declarator declarator: (identifier) @name)
    (init_declarator declarator: (array_declarator declarator: (identifier) @name))
  ]) @def.constant (#match? @_const "^const"))
; std::make_unique<T>(…) makes a T
((init_declarator declarator: (identifier) @local value: (call_expression function: [
    (template_function name: (identifier) @_make arguments: (template_argument_list . (type_descriptor) @type))
    (qualified_identifier name: (template_function name: (identifier) @_make arguments: (template_argument_list . (type_descriptor) @type)))
  ])) (#match? @_make "^make_(unique|shared)$"))
((call_expression function: [
    (template_function name: (identifier) @_make arguments: (template_argument_list . (type_descriptor) @new))
    (qualified_identifier name: (template_function name: (identifier) @_make arguments: (template_argument_list . (type_descriptor) @new)))
  ]) (#match? @_make "^make_(unique|shared)$"))
(parameter_declaration type: (_) @type declarator: [
    (identifier) @param
    (pointer_declarator declarator: (identifier) @param)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @param))
    (reference_declarator (identifier) @param)
    (array_declarator declarator: (identifier) @param)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @param)))
  ])
(optional_parameter_declaration type: (_) @type declarator: [
    (identifier) @param
    (pointer_declarator declarator: (identifier) @param)
    (reference_declarator (identifier) @param)
  ])
(for_range_loop type: [(type_identifier) (qualified_identifier) (template_type) (primitive_type)] @type declarator: [(identifier) @local (_ (identifier) @local)])
(for_range_loop type: (placeholder_type_specifier) declarator: [(identifier) @loop (reference_declarator (identifier) @loop)] right: (_) @value)
(structured_binding_declarator (identifier) @local)
(catch_clause parameters: (parameter_list (parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @local))))
(type_parameter_declaration (type_identifier) @typeparam)
(preproc_params (identifier) @param)

; names
(call_expression function: [(identifier) (field_expression) (qualified_identifier) (template_function) (subscript_expression) (call_expression)] @call arguments: (_) @args)
(new_expression type: (_) @new arguments: (_)? @args)
(declaration type: [(type_identifier) (qualified_identifier) (template_type)] @new declarator: (init_declarator value: [(argument_list) (initializer_list)] @args))
(compound_literal_expression type: [(type_identifier) (qualified_identifier) (template_type)] @new value: (_) @args)
((field_initializer [(field_identifier) @call (template_method) @call] (argument_list) @args) (#match? @call "^[A-Z]"))
(field_initializer (qualified_identifier) @call (argument_list) @args)
((field_initializer (field_identifier) @mention) (#match? @mention "^[a-z_]"))
(throw_statement [(call_expression) (identifier)] @throw)
(throw_statement (compound_literal_expression type: (_) @throw))
(field_expression) @access
(qualified_identifier scope: (namespace_identifier) @mention)
(qualified_identifier scope: (_) name: (qualified_identifier scope: (namespace_identifier) @callee)) @mention
(declaration type: [(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body) (enum_specifier !body)] @hint)
(field_declaration type: [(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body) (enum_specifier !body)] @hint)
(parameter_declaration type: [(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body) (enum_specifier !body)] @hint)
(optional_parameter_declaration type: [(type_identifier) (qualified_identifier) (template_type)] @hint)
(function_definition type: [(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body) (enum_specifier !body)] @hint)
(type_definition type: [(type_identifier) (qualified_identifier) (template_type) (struct_specifier !body) (enum_specifier !body)] @hint)
(for_range_loop type: [(type_identifier) (qualified_identifier) (template_type)] @hint)
(alias_declaration type: (type_descriptor) @hint)
(trailing_return_type (type_descriptor) @hint)
(template_argument_list (type_descriptor) @hint)
(cast_expression type: (type_descriptor) @hint)
(sizeof_expression type: (type_descriptor type: [(type_identifier) (qualified_identifier)] @mention))
(argument_list [(identifier) (qualified_identifier)] @mention)
(binary_expression [(identifier) (qualified_identifier)] @mention)
(unary_expression [(identifier) (qualified_identifier)] @mention)
(update_expression (identifier) @mention)
(pointer_expression [(identifier) (qualified_identifier)] @mention)
(parenthesized_expression (identifier) @mention)
(condition_clause value: (identifier) @mention)
(assignment_expression [(identifier) (qualified_identifier)] @mention)
(init_declarator value: [(identifier) (qualified_identifier)] @mention)
(field_declaration default_value: [(identifier) (qualified_identifier)] @mention)
(optional_parameter_declaration default_value: [(identifier) (qualified_identifier)] @mention)
(array_declarator size: (identifier) @mention)
(initializer_list [(identifier) (qualified_identifier)] @mention)
(initializer_pair value: (identifier) @mention)
(return_statement [(identifier) (qualified_identifier)] @mention)
(conditional_expression [(identifier) (qualified_identifier)] @mention)
(case_statement value: [(identifier) (qualified_identifier)] @mention)
(subscript_expression argument: (identifier) @mention)
(subscript_argument_list (identifier) @mention)
(cast_expression value: (identifier) @mention)
(field_expression argument: (identifier) @mention)
(for_range_loop right: (identifier) @mention)
(delete_expression (identifier) @mention)
(preproc_ifdef name: (identifier) @mention)
(preproc_defined (identifier) @mention)

; imports
(preproc_include path: (_) @module) @import
(using_declaration (qualified_identifier scope: (_) @module name: (identifier) @imported)) @import
(using_declaration "namespace" @star [(identifier) (qualified_identifier)] @module) @import
