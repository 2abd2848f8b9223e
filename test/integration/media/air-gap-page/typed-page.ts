import { FleetError } from '../../../../bundles/errors.ts';

/** What is typed in one go, who types it, and what the page says comes out. */
export type TypedBlock = {
  readonly place: 'office' | 'plant';
  readonly heading: string;
  readonly script: string;
  /** Lines; one that is `...` stands for any number of them. */
  readonly shown: readonly string[];
};

const HEADING = /^#{2,3} (.+)/;

/**
 * The blocks of a page that are typed (```sh), in order, each with the indented lines that follow it. The nearest heading says who
 * types it: one that names neither the office nor the plant is refused as FIELD_INVALID, for a reader would not know either.
 */
export const readTypedPage = (page: string): readonly TypedBlock[] => {
  const lines = page.split('\n');
  const blocks: TypedBlock[] = [];
  let heading = '';
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    heading = HEADING.exec(line)?.[1] ?? heading;
    at += 1;
    if (!line.startsWith('```')) continue;
    const end = lines.indexOf('```', at);
    const script = lines.slice(at, end).join('\n');
    at = end + 1;
    if (line !== '```sh') continue;
    const rest = lines.slice(at);
    const after = rest.findIndex((it) => it !== '' && !it.startsWith('    '));
    const shown = rest.slice(0, after === -1 ? rest.length : after).map((it) => it.slice(4));
    blocks.push({ place: placeOf(heading), heading, script, shown: shown.filter((it) => it !== '') });
  }
  return blocks;
};

const placeOf = (heading: string): TypedBlock['place'] => {
  if (/\bat the plant\b/i.test(heading)) return 'plant';
  if (/\bat the office\b/i.test(heading)) return 'office';
  throw new FleetError('FIELD_INVALID', `Nobody knows where to type what stands under '${heading}'.`);
};
