import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asRoot } from '../hosts/as-root.ts';
import { type Outcome, runOrFail } from '../run/run-command.ts';

const SCRIPT = join(import.meta.dirname, 'in-wine.sh');
/** Node.js for Windows, as Wine names it. */
const NODE = 'Z:\\opt\\node\\node.exe';
const SAID = '.said';

export type Wine = {
  /** The root of a Debian 13. */
  readonly base: string;
  /** What lies over it (parts.wine). */
  readonly layer: string;
};

/**
 * Runs a command in Wine's root, with a copy of the prefix; all that it started ends with it. Needs root's rights.
 * @param data the folder that it sees as /mnt
 */
export const inWine = (
  { base, layer }: Wine,
  data: string,
  words: readonly string[],
  seconds = 1200,
): Promise<Outcome> => runOrFail(asRoot(['sh', SCRIPT, base, layer, data, String(seconds), ...words]));

/** Runs programs of Node.js for Windows one after the other: starting Wine takes longer than they do. `data` is `Z:\mnt`. */
export const nodeInWine = async (
  wine: Wine,
  data: string,
  commands: readonly (readonly string[])[],
): Promise<readonly Outcome[]> => {
  const said = join(data, SAID);
  await mkdir(said);
  try {
    const lines = commands.map((words, at) => {
      const [out, error, code] = ['out', 'err', 'code'].map((name) => `/mnt/${SAID}/${at}.${name}`);
      const line = ['wine64', NODE, ...words].map(quote).join(' ');
      return `code=0; ${line} < /dev/null > ${out} 2> ${error} || code=$?; echo $code > ${code}\n`;
    });
    await writeFile(join(said, 'commands'), lines.join(''));
    await inWine(wine, data, ['sh', `/mnt/${SAID}/commands`]);
    const read = (at: number, name: string) => readFile(join(said, `${at}.${name}`), 'utf8');
    const outcomes: Outcome[] = [];
    for (const at of commands.keys())
      outcomes.push({
        code: Number(await read(at, 'code')),
        stdout: await read(at, 'out'),
        stderr: (await read(at, 'err')).replaceAll(NO_FONTS, ''),
      });
    return outcomes;
  } finally {
    await rm(said, { recursive: true, force: true });
  }
};

const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** What each of Wine's own programs says, as the part has no FreeType. */
const NO_FONTS = /Wine cannot find the FreeType font library\.[^]*?freetype\.org\r?\n/g;
