import type { ComposedValues } from '#bundles/formats/statements/predicates';

/** The values of an agent that stay as they are: those of some names, or all. */
export type Kept =
  | 'all'
  | { readonly names: ReadonlySet<string>; readonly before: ComposedValues | undefined };
