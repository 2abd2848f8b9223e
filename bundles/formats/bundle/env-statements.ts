import { FleetError } from '../../errors.ts';

/** One assignment of an environment file. Offsets are characters of the text; `end` is past the value, before its line feed. */
export type EnvStatement = { readonly key: string; readonly start: number; readonly end: number };

/**
 * Finds the assignments of an environment file, in the syntax that systemd's EnvironmentFile= (systemd.exec(5)) and sh share. A
 * quoted value or a backslash continues an assignment on the next line.
 * @param what names the file in errors
 * @throws FleetError SITE_VALUES for a quote that is never closed
 */
export const envStatements = (text: string, what: string): readonly EnvStatement[] => {
  const found: EnvStatement[] = [];
  for (let start = 0; start < text.length; start++) {
    if (' \t\r\n'.includes(text[start] as string)) continue;
    const comment = text[start] === '#' || text[start] === ';';
    const end = comment ? lineEnd(text, start) : statementEnd(text, start, what);
    const key = /^([^=\s]+)=/.exec(text.slice(start, end))?.[1];
    if (!comment && key !== undefined) found.push({ key, start, end });
    start = end;
  }
  return found;
};

const lineEnd = (text: string, start: number): number => {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
};

const statementEnd = (text: string, start: number, what: string): number => {
  let open: string | undefined;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '\\' && open !== "'") at++;
    else if (open !== undefined) open = char === open ? undefined : open;
    else if (char === '"' || char === "'") open = char;
    else if (char === '\n') return at;
  }
  if (open !== undefined)
    throw new FleetError('SITE_VALUES', `${what}: the file has a quote that is never closed`);
  return text.length;
};
