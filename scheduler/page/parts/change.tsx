import { Code } from '@mantine/core';
import type { ItemDiff } from '#bundles/transport/hub/client';

/** One object or file; a click shows its differing lines. */
export const Change = ({ object: { object, outcome, diff } }: { readonly object: ItemDiff }) => (
  <details>
    <summary>
      {object} {outcome}
    </summary>
    <Code block tabIndex={0}>
      {diff}
    </Code>
  </details>
);
