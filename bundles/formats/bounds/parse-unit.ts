/** One setting of a unit file with its section and line; lines count from 1. */
export type UnitSetting = {
  readonly section: string;
  readonly name: string;
  readonly value: string;
  readonly line: number;
};

const MAX_BYTES = 256 << 10;

/**
 * Parses the settings of a unit file, in order (systemd.syntax(7)). Rejects syntax that versions of systemd read differently: other
 * line ends and spaces, control characters, comments inside a continued line, ambiguous backslashes.
 * @returns the settings, or the error with its line, as words that follow the name of the unit
 */
export const parseUnit = (bytes: Buffer): readonly UnitSetting[] | string => {
  if (bytes.byteLength > MAX_BYTES) return `has more than ${MAX_BYTES} bytes`;
  const text = bytes.toString('utf8');
  if (!Buffer.from(text).equals(bytes)) return 'is not UTF-8';
  // systemd reads spaces beyond ASCII as letters.
  if (/[^\P{Cc}\t\n]|[^\P{Z} ]|\uFEFF/u.test(text))
    return 'has control characters or spaces that are not ASCII';
  const settings: UnitSetting[] = [];
  let section = '';
  let open: { readonly text: string; readonly line: number } | undefined;
  for (const [at, raw] of text.split('\n').entries()) {
    const here = raw.trim();
    const isComment = here === '' || here.startsWith('#') || here.startsWith(';');
    if (open && isComment) return `continues line ${open.line} into a comment or an empty line`;
    if (/\\[ \t]+$|\\\\$/.test(raw) || (isComment && raw.endsWith('\\')))
      return `ends line ${at + 1} in a backslash that may or may not continue it`;
    if (isComment) continue;
    const { text: joined, line }: { text: string; line: number } = open
      ? { text: `${open.text} ${here}`, line: open.line }
      : { text: here, line: at + 1 };
    if (joined.endsWith('\\')) {
      open = { text: joined.slice(0, -1), line };
      continue;
    }
    open = undefined;
    const heading = /^\[([^\]]+)\]$/.exec(joined)?.[1];
    const equals = joined.indexOf('=');
    if (heading !== undefined) section = heading;
    else if (equals < 1 || section === '') return `line ${line} is neither a section nor a setting`;
    else
      settings.push({
        section,
        name: joined.slice(0, equals).trim(),
        value: joined.slice(equals + 1).trim(),
        line,
      });
  }
  return open ? `ends in a continued line ${open.line}` : settings;
};
