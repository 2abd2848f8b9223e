import type { Scalar, YAMLMap, YAMLSeq } from 'yaml';

/** What common YAML is made of, as the library has it. */
export type CommonNode = Scalar.Parsed | YAMLMap.Parsed | YAMLSeq.Parsed;
