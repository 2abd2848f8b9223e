import type { Float, Int } from '../../model/go/number.ts';

/** The tree of a Go template as plain data. `at` is always a UTF-16 offset in the template's text. */

export type Literal = string | boolean | Int | Float;

/** One word of a command. `path` lists the fields read from it: `.a.b`, `$x.a`, `(pipe).a`. */
export type Operand =
  | { readonly kind: 'dot'; readonly at: number }
  | { readonly kind: 'nil'; readonly at: number }
  | { readonly kind: 'literal'; readonly at: number; readonly value: Literal }
  | { readonly kind: 'field'; readonly at: number; readonly path: readonly Name[] }
  /** A variable, by its slot among the template's variables. */
  | { readonly kind: 'variable'; readonly at: number; readonly slot: number; readonly path: readonly Name[] }
  | { readonly kind: 'function'; readonly at: number; readonly name: string }
  | { readonly kind: 'group'; readonly at: number; readonly pipe: Pipe }
  | { readonly kind: 'chain'; readonly at: number; readonly of: Operand; readonly path: readonly Name[] };

export type Name = { readonly at: number; readonly name: string };

/** A function with its arguments, or a single value. */
export type Command = { readonly at: number; readonly words: readonly [Operand, ...Operand[]] };

/** `a | b | c`, and the variables that the result is assigned to; `:=` and `=` differ only during parsing. */
export type Pipe = {
  readonly at: number;
  readonly variables: readonly number[];
  readonly commands: readonly [Command, ...Command[]];
};

/** `if a ... else if b ...`: the first true branch runs. */
export type Branch = { readonly pipe: Pipe; readonly body: Body };

export type Node =
  | { readonly kind: 'text'; readonly at: number; readonly text: string }
  | { readonly kind: 'action'; readonly at: number; readonly pipe: Pipe }
  | {
      readonly kind: 'if' | 'with';
      readonly at: number;
      readonly branches: readonly Branch[];
      readonly otherwise: Body;
    }
  | {
      readonly kind: 'range';
      readonly at: number;
      readonly pipe: Pipe;
      readonly body: Body;
      readonly otherwise: Body;
    }
  | { readonly kind: 'template'; readonly at: number; readonly name: string; readonly pipe: Pipe | undefined }
  | { readonly kind: 'break' | 'continue'; readonly at: number };

export type Body = readonly Node[];

export type Tree = { readonly main: Body; readonly definitions: ReadonlyMap<string, Body> };
