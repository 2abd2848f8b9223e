import { Fragment } from 'react';
import { codeParts } from '../code-parts.ts';

/** Text of a schema, in which code is between backticks. */
export const CodeText = ({ text }: { readonly text: string }) => (
  <>
    {[...codeParts(text).entries()].map(([at, part]) =>
      at % 2 === 1 ? <code key={at}>{part}</code> : <Fragment key={at}>{part}</Fragment>,
    )}
  </>
);
