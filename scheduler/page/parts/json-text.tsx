import { Code } from '@mantine/core';

/** A value as JSON. `value` undefined: nothing. */
export const JsonText = ({ value }: { readonly value: unknown }) =>
  value === undefined ? <span>no value</span> : <Code>{JSON.stringify(value)}</Code>;
