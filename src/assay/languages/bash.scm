; definitions
(function_definition name: (word) @name body: (_) @body) @def.function
(variable_assignment name: (variable_name) @name) @def.variable
((declaration_command "readonly" (variable_assignment name: (variable_name) @name)) @def.constant)
((declaration_command (word) @_flag (variable_assignment name: (variable_name) @name)) @def.constant (#match? @_flag "^-[a-zA-Z]*r"))
(declaration_command "local" (variable_name) @local)
(for_statement variable: (variable_name) @local)

; names
(command name: (command_name (word) @call))
(simple_expansion (variable_name) @mention)
(expansion (variable_name) @mention)
(subscript name: (variable_name) @mention)
(binary_expression (variable_name) @mention)
((command name: (command_name (word) @_trap) . argument: (word) @mention) (#eq? @_trap "trap"))

; imports: the path, or its end after an expansion
((command name: (command_name (word) @_source) . argument: [
    (word) @module
    (string . (string_content) @module .)
    (string (_) (string_content) @module .)
    (concatenation (_) (word) @module .)
    (raw_string) @module
  ]) @import (#match? @_source "^(source|\\.)$"))
