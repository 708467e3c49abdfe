; definitions
(function_item name: (identifier) @name return_type: (_)? @type body: (block) @body) @def.function
(function_signature_item name: (identifier) @name return_type: (_)? @type) @def.function
(struct_item name: (type_identifier) @name body: (field_declaration_list)? @body) @def.struct
(struct_item name: (type_identifier) @name body: (ordered_field_declaration_list) @type) @def.struct
(union_item name: (type_identifier) @name body: (_) @body) @def.struct
(enum_item name: (type_identifier) @name body: (_) @body) @def.enum
(enum_variant name: (identifier) @name body: (ordered_field_declaration_list)? @type) @def.constant
(trait_item name: (type_identifier) @name body: (_) @body) @def.trait
(type_item name: (type_identifier) @name type: (_) @type) @def.type
(mod_item name: (identifier) @name body: (_) @body) @def.module
(macro_definition name: (identifier) @name) @def.macro
(const_item name: (identifier) @name type: (_) @type value: (_)? @value) @def.constant
(static_item name: (identifier) @name type: (_) @type value: (_)? @value) @def.variable
(struct_item body: (field_declaration_list (field_declaration name: (field_identifier) @name type: (_) @type) @def.field))
(union_item body: (field_declaration_list (field_declaration name: (field_identifier) @name type: (_) @type) @def.field))
(impl_item trait: (_)? @trait type: (_) @name) @scope
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(attribute_item (attribute [(identifier) (scoped_identifier)] @decorator)
  (#not-any-of? @decorator "derive" "test" "cfg" "cfg_attr" "allow" "warn" "deny" "expect" "inline" "doc" "must_use" "ignore" "should_panic"
    "macro_use" "macro_export" "repr" "deprecated" "path" "serde" "cold" "non_exhaustive" "track_caller" "no_mangle"
    "automatically_derived"))

; parameters and locals
(function_item parameters: (parameters (parameter pattern: (identifier) @param type: (_) @type)))
(function_signature_item parameters: (parameters (parameter pattern: (identifier) @param type: (_) @type)))
(parameter pattern: (tuple_pattern (identifier) @local))
(parameter pattern: (mut_pattern (identifier) @local) type: (_) @type)
(closure_parameters (parameter pattern: (identifier) @local type: (_) @type))
(closure_parameters (identifier) @local)
; the argument of a closure is an element of what the method belongs to, or what an option holds
(call_expression function: (field_expression value: (_) @value)
  arguments: (arguments (closure_expression parameters: (closure_parameters . (identifier) @local .))))
(call_expression function: (field_expression value: (_) @value)
  arguments: (arguments (closure_expression parameters: (closure_parameters . (identifier) @loop .))))
(call_expression function: (field_expression value: (_) @value)
  arguments: (arguments (closure_expression parameters: (closure_parameters . (reference_pattern (identifier) @loop) .))))
(type_parameter name: (type_identifier) @typeparam bounds: (trait_bounds)? @type)
(where_predicate left: (type_identifier) @typeparam bounds: (trait_bounds) @type)

(let_declaration pattern: (identifier) @local type: (_) @type) @after
(let_declaration pattern: (identifier) @local !type) @after
(let_declaration pattern: (identifier) @local !type
  value: [(call_expression) (identifier) (field_expression) (reference_expression) (try_expression) (await_expression) (struct_expression)
          (index_expression) (scoped_identifier) (unary_expression)] @value) @after
(let_declaration pattern: (tuple_pattern (identifier) @local)) @after
(let_declaration pattern: (tuple_pattern (identifier) @local) @pattern
  value: [(call_expression) (identifier) (field_expression) (try_expression) (await_expression)] @value) @after
(let_declaration pattern: (tuple_pattern (mut_pattern (identifier) @local)) @pattern
  value: [(call_expression) (identifier) (field_expression) (try_expression) (await_expression)] @value) @after
((let_declaration pattern: (tuple_struct_pattern type: (identifier) @_wrapper . (identifier) @local) value: (_) @value) @after
  (#any-of? @_wrapper "Some" "Ok"))
((let_condition pattern: (tuple_struct_pattern type: (identifier) @_wrapper . (identifier) @local) value: (_) @value)
  (#any-of? @_wrapper "Some" "Ok"))
((let_condition pattern: (tuple_struct_pattern type: (identifier) @_wrapper . (_ (identifier) @local)) value: (_) @value)
  (#any-of? @_wrapper "Some" "Ok"))
((match_expression value: (_) @value
  body: (match_block (match_arm pattern: (match_pattern (tuple_struct_pattern type: (identifier) @_wrapper . (identifier) @local)))))
  (#any-of? @_wrapper "Some" "Ok"))
((match_pattern (identifier) @local) (#match? @local "^[a-z_]"))
(tuple_struct_pattern type: (_) @value (identifier) @local) @pattern
(tuple_struct_pattern type: (_) @value
  [(ref_pattern (identifier) @local) (mut_pattern (identifier) @local) (reference_pattern (identifier) @local)]) @pattern
(tuple_pattern
  [(identifier) @local (ref_pattern (identifier) @local) (mut_pattern (identifier) @local) (reference_pattern (identifier) @local)])
(slice_pattern (identifier) @local)
(captured_pattern . (identifier) @local)
(field_pattern name: (shorthand_field_identifier) @local)
(field_pattern pattern: (identifier) @local)
(struct_pattern type: (_) @type (field_pattern name: (shorthand_field_identifier) @local @member))
(struct_pattern type: (_) @type (field_pattern name: (field_identifier) @member pattern: (identifier) @local))
(for_expression pattern: (identifier) @loop value: (_) @value)
(for_expression pattern: (reference_pattern (identifier) @loop) value: (_) @value)
(for_expression pattern: (tuple_pattern (identifier) @loop) @pattern value: (_) @value)

; names
(call_expression function: [(identifier) (field_expression) (scoped_identifier) (self)] @call)
(call_expression function: (generic_function function: (_) @call))
(macro_invocation macro: (_) @call)
(macro_invocation (token_tree) @tokens)
(macro_rule right: (token_tree) @tokens)
(field_expression) @access
(scoped_identifier) @access
(scoped_type_identifier) @access
((scoped_identifier path: [(identifier) (scoped_identifier)] @mention) (#not-eq? @mention "Self"))
((scoped_type_identifier path: [(identifier) (scoped_identifier)] @mention) (#not-eq? @mention "Self"))
(scoped_identifier path: (generic_type type: (_) @mention))

(parameter type: (_) @hint)
(function_item return_type: (_) @hint)
(function_signature_item return_type: (_) @hint)
(closure_expression return_type: (_) @hint)
(field_declaration type: (_) @hint)
(ordered_field_declaration_list type: (_) @hint)
(let_declaration type: (_) @hint)
(const_item type: (_) @hint)
(static_item type: (_) @hint)
(type_item type: (_) @hint)
(type_cast_expression type: (_) @hint)
(generic_function type_arguments: (_) @hint)
(generic_type_with_turbofish type_arguments: (_) @hint)
(scoped_identifier path: (generic_type type_arguments: (_) @hint))
(function_item type_parameters: (type_parameters (type_parameter bounds: (_) @hint)))
(function_signature_item type_parameters: (type_parameters (type_parameter bounds: (_) @hint)))
(struct_item type_parameters: (type_parameters (type_parameter bounds: (_) @hint)))
(enum_item type_parameters: (type_parameters (type_parameter bounds: (_) @hint)))
(trait_item type_parameters: (type_parameters (type_parameter bounds: (_) @hint)))
(function_item (where_clause (where_predicate bounds: (_) @hint)))
(function_signature_item (where_clause (where_predicate bounds: (_) @hint)))
(struct_item (where_clause (where_predicate bounds: (_) @hint)))
(associated_type bounds: (_) @hint)

(struct_expression name: (type_identifier) @mention)
(struct_expression name: (generic_type_with_turbofish type: (type_identifier) @mention))
(struct_pattern type: (type_identifier) @mention)
(tuple_struct_pattern type: (identifier) @mention)
((match_pattern (identifier) @mention) (#match? @mention "^[A-Z]"))
(arguments (identifier) @mention)
(tuple_expression (identifier) @mention)
(array_expression (identifier) @mention)
(binary_expression (identifier) @mention)
(reference_expression value: (identifier) @mention)
(unary_expression (identifier) @mention)
(field_initializer value: (identifier) @mention)
(shorthand_field_initializer (identifier) @mention)
(base_field_initializer (identifier) @mention)
(let_declaration value: (identifier) @mention)
(let_condition value: (identifier) @mention)
(const_item value: (identifier) @mention)
(static_item value: (identifier) @mention)
(assignment_expression (identifier) @mention)
(compound_assignment_expr (identifier) @mention)
(return_expression (identifier) @mention)
(match_expression value: (identifier) @mention)
(match_arm value: (identifier) @mention)
(index_expression (identifier) @mention)
(block (identifier) @mention)
(expression_statement (identifier) @mention)
(field_expression value: (identifier) @mention)
(try_expression (identifier) @mention)
(range_expression (identifier) @mention)
(if_expression condition: (identifier) @mention)
(for_expression value: (identifier) @mention)
(closure_expression body: (identifier) @mention)
(parenthesized_expression (identifier) @mention)
(type_cast_expression value: (identifier) @mention)

; imports
(use_declaration argument: (_) @tree) @import
(use_declaration (visibility_modifier) @export argument: (_) @tree) @import
(mod_item name: (identifier) @imported @own !body) @import
(extern_crate_declaration name: (identifier) @module alias: (identifier)? @alias) @import
(extern_crate_declaration (visibility_modifier) @export name: (identifier) @module alias: (identifier)? @alias) @import
