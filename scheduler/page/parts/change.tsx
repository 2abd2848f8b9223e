import { Code } from '@mantine/core';
import type { Compared } from '../api/answers.ts';

/** One object or file, with its differing lines behind a click. */
export const Change = ({
  object: { object, outcome, diff },
}: {
  readonly object: Compared['objects'][number];
}) => (
  <details>
    <summary>
      {object} {outcome}
    </summary>
    <Code block tabIndex={0}>
      {diff}
    </Code>
  </details>
);
