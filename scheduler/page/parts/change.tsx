import type { ItemDiff } from '#bundles/schemas/types/hub-decisions';

type Props = { readonly object: ItemDiff; readonly isOpen?: boolean };

/** One object or file; a click shows its differing lines. */
export const Change = ({ object: { object, outcome, diff }, isOpen = false }: Props) => (
  <details open={isOpen}>
    <summary>
      {object} {WORDS[outcome] ?? outcome}
    </summary>
    <Lines of={diff} />
  </details>
);

/** The API names outcomes as an agent does that applies the change. On the page they are differences between two states. */
const WORDS: Readonly<Record<string, string>> = {
  created: 'added',
  configured: 'changed',
  deleted: 'removed',
};

const TONES: Readonly<Record<string, string>> = { '-': 'gone', '+': 'new', '@': 'place' };

/** The lines of a unified diff. Signs say what colours say. */
const Lines = ({ of }: { readonly of: string }) => (
  <pre className="diff" tabIndex={0}>
    {of
      .trimEnd()
      .split('\n')
      .map((line, index) => (
        // Lines have no names, and never change places.
        <span key={index} className={TONES[line[0] ?? ''] ?? 'same'}>
          {`${line}\n`}
        </span>
      ))}
  </pre>
);
