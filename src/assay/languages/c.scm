; functions: with a body, and prototypes
(function_definition type: (_) @type declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ] body: (_) @body) @def.function
(declaration type: (_) @type declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ]) @def.function

; types
(struct_specifier name: (type_identifier) @name body: (_) @body) @def.struct
(union_specifier name: (type_identifier) @name body: (_) @body) @def.struct
(enum_specifier name: (type_identifier) @name body: (_) @body) @def.enum
(type_definition type: (struct_specifier !name body: (_) @body) declarator: (type_identifier) @name) @def.struct
(type_definition type: (union_specifier !name body: (_) @body) declarator: (type_identifier) @name) @def.struct
(type_definition type: (enum_specifier !name body: (_) @body) declarator: (type_identifier) @name) @def.enum
(type_definition type: [
    (type_identifier) (primitive_type) (sized_type_specifier) (struct_specifier name: (_)) (union_specifier name: (_)) (enum_specifier name: (_))
  ] @type declarator: [
    (type_identifier) @name
    (pointer_declarator declarator: (type_identifier) @name)
    (array_declarator declarator: (type_identifier) @name)
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))
    (function_declarator declarator: (type_identifier) @name)
  ]) @def.type
(enumerator name: (identifier) @name) @def.constant
(field_declaration type: (_) @type declarator: [
    (field_identifier) @name
    (pointer_declarator declarator: (field_identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
    (array_declarator declarator: (field_identifier) @name)
    (array_declarator declarator: (pointer_declarator declarator: (field_identifier) @name))
    (pointer_declarator declarator: (array_declarator declarator: (field_identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))
  ]) @def.field

; macros with a value or parameters
(preproc_def name: (identifier) @name value: (_) @body) @def.macro
(preproc_function_def name: (identifier) @name value: (_)? @body) @def.macro

; variables, locals
(declaration type: (_) @type declarator: [
    (identifier) @name
    (pointer_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (array_declarator declarator: (identifier) @name)
    (array_declarator declarator: (pointer_declarator declarator: (identifier) @name))
    (array_declarator declarator: (array_declarator declarator: (identifier) @name))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
    (init_declarator declarator: [
        (identifier) @name
        (pointer_declarator declarator: (identifier) @name)
        (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @name))
        (array_declarator declarator: (identifier) @name)
        (array_declarator declarator: (pointer_declarator declarator: (identifier) @name))
        (pointer_declarator declarator: (array_declarator declarator: (identifier) @name))
        (array_declarator declarator: (array_declarator declarator: (identifier) @name))
        (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @name)))
      ] value: (_) @value)
  ]) @def.variable
((declaration (type_qualifier) @_const type: (_) @type declarator: [
    (init_declarator declarator: (identifier) @name)
    (init_declarator declarator: (array_declarator declarator: (identifier) @name))
  ]) @def.constant (#match? @_const "^const"))
(parameter_declaration type: (_) @type declarator: [
    (identifier) @param
    (pointer_declarator declarator: (identifier) @param)
    (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @param))
    (array_declarator declarator: (identifier) @param)
    (array_declarator declarator: (pointer_declarator declarator: (identifier) @param))
    (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (identifier) @param)))
  ])
(preproc_params (identifier) @param)

; names
(call_expression function: (_) @call)
(field_expression) @access
(declaration type: [(type_identifier) (struct_specifier !body) (union_specifier !body) (enum_specifier !body)] @hint)
(field_declaration type: [(type_identifier) (struct_specifier !body) (union_specifier !body) (enum_specifier !body)] @hint)
(parameter_declaration type: [(type_identifier) (struct_specifier !body) (union_specifier !body) (enum_specifier !body)] @hint)
(function_definition type: [(type_identifier) (struct_specifier !body) (union_specifier !body) (enum_specifier !body)] @hint)
(type_definition type: [(type_identifier) (struct_specifier !body) (union_specifier !body) (enum_specifier !body)] @hint)
(cast_expression type: (type_descriptor) @hint)
(compound_literal_expression type: (type_descriptor) @hint)
(sizeof_expression type: (type_descriptor type: [(type_identifier) @mention (struct_specifier name: (_) @mention)]))
(sizeof_expression value: (parenthesized_expression (identifier) @mention))
(argument_list (identifier) @mention)
(binary_expression (identifier) @mention)
(unary_expression (identifier) @mention)
(update_expression (identifier) @mention)
(pointer_expression (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(assignment_expression (identifier) @mention)
(init_declarator value: (identifier) @mention)
(array_declarator size: (identifier) @mention)
(initializer_list (identifier) @mention)
(initializer_pair value: (identifier) @mention)
(return_statement (identifier) @mention)
(conditional_expression (identifier) @mention)
(case_statement value: (identifier) @mention)
(for_statement condition: (identifier) @mention)
(subscript_expression (identifier) @mention)
(cast_expression value: (identifier) @mention)
(comma_expression (identifier) @mention)
(field_expression argument: (identifier) @mention)
(enumerator value: (identifier) @mention)
(preproc_ifdef name: (identifier) @mention)
(preproc_defined (identifier) @mention)

; imports
(preproc_include path: (_) @module) @import
