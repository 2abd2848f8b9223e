import type { Int } from '../../../model/go/number.ts';

/**
 * A Go value that templates pass on but cannot inspect, except for the properties in `fields`: a time, a version. It prints
 * as its `text`.
 */
export class Opaque {
  readonly type: string;
  readonly kind: 'struct' | 'ptr';
  readonly text: string;
  /** The form that toJson and toYaml write. */
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
