import { type Document, isMap, isScalar, isSeq, type Scalar } from 'yaml';

/**
 * The text that the library writes of a document, lines as long as they are, where it is of mappings, lists and scalars without
 * comments: the tests hold the two against each other. The document has to keep numbers as they were written.
 * @returns undefined for all else: then the library has to write it
 */
export const writeCommonYaml = ({
  contents,
  directives,
  comment,
  commentBefore,
}: Document): string | undefined => {
  if (!isMap(contents) || comment || commentBefore || !directives || directives.docEnd) return undefined;
  if (directives.yaml.explicit || Object.keys(directives.tags).join() !== '!!') return undefined;
  const text = contents.items.length === 0 ? undefined : writeNode(contents, '');
  if (text === undefined) return undefined;
  return `${directives.docStart ? '---\n' : ''}${text}\n`;
};

/** @param indent of the lines behind the first one */
const writeNode = (node: unknown, indent: string): string | undefined => {
  if (typeof node === 'string') return writePlain(node);
  if (isScalar(node)) return isAdorned(node) ? undefined : writeScalar(node, indent);
  if (isMap(node)) {
    if (isAdorned(node) || node.flow) return isAdorned(node) || node.items.length > 0 ? undefined : '{}';
    let text = '';
    for (const { key, value } of node.items) {
      const below = `${indent}  `;
      const name = writeKey(key);
      const inner = writeNode(value, below);
      if (name === undefined || inner === undefined) return undefined;
      if (text !== '') text += `\n${indent}`;
      text += `${name}:`;
      if (inner !== '') text += isInline(value) ? ` ${inner}` : `\n${below}${inner}`;
    }
    return text === '' ? '{}' : text;
  }
  if (!isSeq(node) || isAdorned(node)) return undefined;
  if (node.items.length === 0) return '[]';
  if (node.flow) return undefined;
  let text = '';
  for (const item of node.items) {
    const inner = writeNode(item, `${indent}  `);
    if (inner === undefined) return undefined;
    if (text !== '') text += `\n${indent}`;
    text += `- ${inner}`;
  }
  return text;
};

/** What was put in has texts for nodes. */
const writeKey = (key: unknown): string | undefined => {
  if (typeof key !== 'string' && !isScalar(key)) return undefined;
  if (typeof key !== 'string' && typeof key.value === 'string' && key.value.includes('\n')) return undefined;
  const text = writeNode(key, '');
  return text !== undefined && text.length <= MAX_KEY && text[0] !== '|' ? text : undefined;
};

/** Longer ones are written in another way. */
const MAX_KEY = 1000;

const isInline = (node: unknown): boolean =>
  typeof node === 'string' || isScalar(node) || ((isMap(node) || isSeq(node)) && node.items.length === 0);

type Adornments = Pick<Scalar, 'comment' | 'commentBefore' | 'spaceBefore' | 'anchor' | 'tag'>;

const isAdorned = (node: Adornments): boolean =>
  Boolean(node.comment || node.commentBefore || node.spaceBefore || node.anchor || node.tag);

const writeScalar = ({ value, type, source }: Scalar, indent: string): string | undefined => {
  if (typeof value !== 'string')
    return type === 'PLAIN' && source !== undefined && isSourceOf(source, value) ? source : undefined;
  switch (type) {
    case undefined:
    case 'PLAIN':
      return writePlain(value);
    case 'QUOTE_DOUBLE':
      return writeDouble(value, indent);
    case 'QUOTE_SINGLE':
      return PRINTABLE.test(value) ? `'${value.replaceAll("'", "''")}'` : undefined;
    case 'BLOCK_LITERAL':
      return writeLiteral(value, indent);
    case 'BLOCK_FOLDED':
      return undefined;
  }
};

/** Numbers are as they were written; of all else somebody may have put another value there. */
const isSourceOf = (source: string, value: unknown): boolean => {
  if (value === null) return /^(?:~|[Nn]ull|NULL)?$/.test(source);
  if (typeof value === 'boolean') return (value ? /^(?:[Tt]rue|TRUE)$/ : /^(?:[Ff]alse|FALSE)$/).test(source);
  return typeof value === 'number' || typeof value === 'bigint';
};

const PRINTABLE = /^[ -~]*$/;
const LINES = /^[\n -~]*$/;

const writePlain = (value: string): string | undefined =>
  PLAIN.test(value) && !AMBIGUOUS.test(value) && !isTyped(value) ? value : undefined;

/** Text that may stand without quotes: ASCII that begins with nothing that YAML gives a meaning to. */
const PLAIN = /^[A-Za-z0-9_$./(<^=;+-][ -~]*$/;
const AMBIGUOUS = /: | #|[ :]$|^-(?: |$|--)|^\.\.\./;
/** The pattern takes longer with the square of a text; so long a one that begins as a number is declined. */
const isTyped = (value: string): boolean =>
  value.length > MAX_TYPED ? /^[-+.0-9]/.test(value) : TYPED.test(value);
const MAX_TYPED = 100;

/** What YAML takes for another type, and more. */
const TYPED =
  /^(?:null|true|false)$|^[-+.]*[0-9]*[-+.]*[0-9]*(?:[eE][-+]?[0-9]+)?$|^0[ox][0-9a-f]*$|^[-+]?\.(?:inf|nan)$/i;

/** The library writes lines of a text that is this long with its quotes as lines, with an empty one between each two. */
const MIN_LINES = 40;

const writeDouble = (value: string, indent: string): string | undefined => {
  if (!LINES.test(value) || value.includes(' \n')) return undefined;
  const json = JSON.stringify(value);
  if (!value.includes('\n') || json.length < MIN_LINES) return json;
  // The last line's end stays what it is in JSON.
  const ends = value.endsWith('\n');
  const parts = (ends ? value.slice(0, -1) : value).split(/(\n+)/);
  const written = parts.map((part, at) =>
    part.startsWith('\n')
      ? `\n${part}${indent}${parts[at + 1]?.startsWith(' ') ? '\\' : ''}`
      : JSON.stringify(part).slice(1, -1),
  );
  return `"${written.join('')}${ends ? '\\n' : ''}"`;
};

const writeLiteral = (value: string, indent: string): string | undefined => {
  const body = value.endsWith('\n') ? value.slice(0, -1) : value;
  // Spaces at either end have rules of their own.
  if (!LINES.test(body) || body === '' || /^[ \n]|[ \n]$/.test(body)) return undefined;
  return `|${body === value ? '-' : ''}\n${indent}${body.replaceAll(/\n+/g, `$&${indent}`)}`;
};
