import { isFleetError } from '../../../../bundles/errors.ts';
import { compileTemplate } from '../../../../scheduler/render/compile-template.ts';
import { CONTEXT, encode } from './corpus.ts';
import { EXTENSIONS, type Own } from './extensions.ts';
import type { Answer, Oracle } from './oracle.ts';

export type Difference = { readonly text: string; readonly theirs: Answer; readonly own: Own };

/** How a corpus fared. What is on the list of extensions counts for itself, by reason. */
export type Comparison = {
  readonly templates: number;
  /** Rendered by both, to the same bytes. */
  readonly rendered: number;
  /** Refused by both. */
  readonly refused: number;
  readonly extensions: Readonly<Record<string, number>>;
  readonly differences: readonly Difference[];
};

const renderOwn = (text: string): Own => {
  try {
    return { output: compileTemplate({ engine: 'go', name: 'case', text, at: { file: 'case' } })(CONTEXT) };
  } catch (error) {
    // Anything but a mistake of the template is a mistake of ours.
    if (isFleetError(error, 'TEMPLATE_SYNTAX') || isFleetError(error, 'TEMPLATE_FAILED'))
      return { error: error.message };
    throw new Error(`rendering ${text}`, { cause: error });
  }
};

/** Renders templates with both engines. */
export const compare = (oracle: Oracle, templates: readonly string[]): Comparison => {
  const context = encode(CONTEXT);
  const answers = oracle.ask(
    templates.map((text) => `{"template":${JSON.stringify(text)},"context":${context}}`),
  );
  let rendered = 0;
  let refused = 0;
  const extensions: Record<string, number> = {};
  const differences: Difference[] = [];
  for (const [index, text] of templates.entries()) {
    const theirs = answers[index] ?? {};
    const own = renderOwn(text);
    const reason = EXTENSIONS.find(({ applies }) => applies(theirs, own))?.reason;
    if (own.output !== undefined && own.output === theirs.output) rendered += 1;
    else if (own.output === undefined && theirs.output === undefined) refused += 1;
    else if (reason !== undefined) extensions[reason] = (extensions[reason] ?? 0) + 1;
    else differences.push({ text, theirs, own });
  }
  return { templates: templates.length, rendered, refused, extensions, differences };
};

export const showComparison = ({
  templates,
  rendered,
  refused,
  extensions,
  differences,
}: Comparison): string => {
  const listed = Object.values(extensions).reduce((sum, count) => sum + count, 0);
  return `${templates} templates: ${rendered} rendered to the same bytes, ${refused} refused by both, ${listed} differ as listed, ${differences.length} differ otherwise`;
};
