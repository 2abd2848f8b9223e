import type { Int } from './number.ts';

/**
 * A Go value that templates hand on but cannot look into, but for the properties named in `fields`: a time, a version.
 * It prints as its `text`.
 */
export class Opaque {
  readonly type: string;
  readonly kind: 'struct' | 'ptr';
  readonly text: string;
  /** As toJson and toYaml write it. */
  readonly encoded: string;
  readonly fields: ReadonlyMap<string, string | Int>;

  constructor(
    type: string,
    kind: 'struct' | 'ptr',
    text: string,
    encoded: string,
    fields: ReadonlyMap<string, string | Int> = new Map(),
  ) {
    this.type = type;
    this.kind = kind;
    this.text = text;
    this.encoded = encoded;
    this.fields = fields;
  }

  toString(): string {
    return this.text;
  }
}
