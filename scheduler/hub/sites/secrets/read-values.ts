import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { isSecretKey } from '#bundles/trust/secrets/parse';
import { MAX_SEALED_BYTES, type SecretSet } from '#bundles/trust/secrets/secret-set';

/** Sources of values. The command line is not one, because every process on the machine can read it. */
export type ValueSources = {
  /** '<key>=<path>', or a path whose last segment is the key. */
  readonly files: readonly string[];
  /** A file with lines `KEY=value`, read literally. */
  readonly envFile: string | undefined;
  /** The key whose value is on standard input. One trailing line feed is removed. */
  readonly stdin: string | undefined;
};

type Value = { readonly key: string; readonly bytes: Buffer };

/**
 * Reads values from their sources. Messages name keys, files and lines, never values.
 * @returns values in base64, by key
 * @throws FleetError USAGE for no value, or an invalid or repeated key; TOO_LARGE; SOURCE_MISSING, PERMISSION, IO
 */
export const readValues = async (
  { files, envFile, stdin }: ValueSources,
  cwd: string,
  input: AsyncIterable<Uint8Array>,
): Promise<SecretSet['values']> => {
  const values: Value[] = [];
  for (const file of files) values.push(await readOne(file, cwd));
  if (envFile !== undefined) values.push(...readLines(await readSmall(resolve(cwd, envFile)), envFile));
  if (stdin !== undefined) {
    const bytes = withoutLineFeed(await readInput(input));
    if (bytes.byteLength === 0) throw emptyInputError(`standard input, for the key ${stdin}`);
    values.push({ key: stdin, bytes });
  }
  if (values.length === 0)
    throw new FleetError('USAGE', 'no value is given', {
      hint: 'Give --from-file key=path, --from-env-file path or --stdin key',
    });
  const found = new Map<string, string>();
  for (const { key, bytes } of values) {
    if (!isSecretKey(key))
      throw new FleetError('USAGE', `${JSON.stringify(key.slice(0, 80))} cannot be the key of a secret`, {
        hint: "Use letters, digits, dots, - and _, and no '..' at the beginning",
      });
    if (found.has(key)) throw new FleetError('USAGE', `the key ${key} is given twice`);
    found.set(key, bytes.toString('base64'));
  }
  return Object.fromEntries(found);
};

/** A pipe whose program failed must not replace a password by an empty one. */
const emptyInputError = (from: string): FleetError =>
  new FleetError('USAGE', `nothing came from ${from}`, {
    hint: 'Did the program that writes it fail? For an empty value give an empty file with --from-file',
  });

const readOne = async (given: string, cwd: string): Promise<Value> => {
  const at = given.indexOf('=');
  const path = given.slice(at + 1);
  const key = at === -1 ? (given.split('/').at(-1) ?? '') : given.slice(0, at);
  if (path === '') throw new FleetError('USAGE', `--from-file ${key}= names no file`);
  return { key, bytes: await readSmall(resolve(cwd, path)) };
};

const readSmall = async (path: string): Promise<Buffer> => {
  try {
    await using file = await open(path, 'r');
    const stat = await file.stat();
    if (stat.size > MAX_SEALED_BYTES) throw tooLarge(path);
    const bytes = await file.readFile();
    if (bytes.byteLength === 0 && !stat.isFile()) throw emptyInputError(path);
    // stat() reports size 0 for a pipe.
    if (bytes.byteLength > MAX_SEALED_BYTES) throw tooLarge(path);
    return bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FleetError('SOURCE_MISSING', `there is no file ${path}`, { cause: error });
    throw toFleetError(error, `reading ${path}`);
  }
};

const readInput = async (input: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of input) {
    size += piece.byteLength;
    if (size > MAX_SEALED_BYTES) throw tooLarge('standard input');
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
};

const tooLarge = (what: string): FleetError =>
  new FleetError('TOO_LARGE', `${what} has more than ${MAX_SEALED_BYTES} bytes`, {
    hint: 'A secret set is for passwords and certificates, not for data',
  });

const withoutLineFeed = (bytes: Buffer): Buffer =>
  bytes.at(-1) === 0x0a ? bytes.subarray(0, bytes.at(-2) === 0x0d ? -2 : -1) : bytes;

/** Lines as `docker run --env-file` and kubectl read them: no quotes, no substitution. */
const readLines = (bytes: Buffer, file: string): readonly Value[] => {
  if (!isUtf8(bytes)) throw new FleetError('USAGE', 'this is not text in UTF-8', { at: { file } });
  return bytes
    .toString('utf8')
    .split(/\r?\n/)
    .flatMap((line, index) => {
      if (line.trim() === '' || line.startsWith('#')) return [];
      const at = line.indexOf('=');
      if (at > 0) return [{ key: line.slice(0, at), bytes: Buffer.from(line.slice(at + 1)) }];
      throw new FleetError('USAGE', 'this line is not KEY=value', { at: { file, line: index + 1 } });
    });
};
