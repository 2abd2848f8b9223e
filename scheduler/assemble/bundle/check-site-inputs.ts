import { fieldAt } from '#bundles/formats/bounds/site-fence';
import { escapeToken, pointerTokens } from '#bundles/formats/bounds/site-fields';
import { envStatements } from '#bundles/formats/bundle/env-statements';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { didYouMean } from '#bundles/nearest-name';
import type { ResolvedFile } from '../content/check-host-paths.ts';
import type { SiteInputObject } from '../content/host-package-object.ts';
import type { PlacedPlaybook } from '../content/playbooks/place-playbooks.ts';
import { checkInputSchemas, inputFault } from './check-input-schemas.ts';
import { wordsOfPlaybook } from '../content/playbooks/words-of-playbook.ts';

/** Parses a file with site inputs as the agent does. */
const JSON_LIMITS = { maxBytes: 8 << 20, maxDepth: 64 };
const VARIABLE = /^\/[A-Za-z_][A-Za-z0-9_]*$/;
const PLACEHOLDER_HINT = 'Write it into the file with some value; the site puts in its own';

/**
 * Checks that each site input of a HostPackage goes to a field that the package's file has, that each one of a playbook goes to a
 * variable that the playbook names, and that each has a valid schema. A misspelled field would be a new one at the site, beside the
 * one that the program reads.
 * @throws FleetError REFERENCE_MISSING, FIELD_INVALID, SCHEMA_INVALID, OBJECT_CLASH with the place of the input; DIGEST_MISMATCH
 */
export const checkSiteInputs = async (
  inputs: readonly SiteInputObject[],
  playbooks: readonly PlacedPlaybook[],
  files: readonly ResolvedFile[],
  signal: AbortSignal,
): Promise<void> => {
  const byPath = new Map(files.map((it) => [it.file.path, it]));
  const parse = parseOnce();
  for (const input of inputs) checkTarget(input, byPath.get(input.file), parse);
  for (const playbook of playbooks) await checkVariables(playbook, byPath, signal);
  checkInputSchemas([...inputs, ...playbooks.flatMap(({ siteInputs }) => siteInputs)]);
};

/** The fields of a file that site inputs may go to, parsed once for all of them. */
type Parsed = { readonly variables: ReadonlySet<string> } | { readonly document: unknown };

type Parse = (target: ResolvedFile, read: () => Parsed) => Parsed;

const parseOnce = (): Parse => {
  const known = new Map<ResolvedFile, Parsed>();
  return (target, read) => {
    const parsed = known.get(target) ?? read();
    known.set(target, parsed);
    return parsed;
  };
};

const checkTarget = (input: SiteInputObject, target: ResolvedFile | undefined, parse: Parse): void => {
  const hint = 'Name a file of the package with format: env or json';
  if (!target)
    throw inputFault(
      'REFERENCE_MISSING',
      input,
      `goes to ${input.file}, which is not a file of the package`,
      hint,
    );
  switch (target.file.format) {
    case 'env':
      checkVariable(input, target, parse);
      return;
    case 'json':
      checkField(input, target, parse);
      return;
    case undefined:
      throw inputFault('REFERENCE_MISSING', input, `goes to ${input.file}, which has no format`, hint);
    default:
      target.file.format satisfies never;
  }
};

const checkVariable = (input: SiteInputObject, target: ResolvedFile, parse: Parse): void => {
  if (!VARIABLE.test(input.pointer))
    throw inputFault(
      'FIELD_INVALID',
      input,
      `goes to ${JSON.stringify(input.pointer)}, which is not a variable of an env file`,
      'Write it like /LINE_NUMBER',
    );
  const parsed = parse(target, () => ({ variables: variablesIn(input, target) }));
  if (!('variables' in parsed) || parsed.variables.has(input.pointer)) return;
  throw noField(input, [...parsed.variables], 'variable');
};

const variablesIn = (input: SiteInputObject, { bytes }: ResolvedFile): ReadonlySet<string> => {
  const text = (bytes?.bytes ?? Buffer.alloc(0)).toString('latin1');
  const assigned = readable(input, () => envStatements(text, input.file)).map(({ key }) => key);
  // The agent appends an assignment after an `export`, which sh reads the same way.
  const exported = [...text.matchAll(/^[ \t]*export[ \t]+([A-Za-z_][A-Za-z0-9_]*)=/gm)].map(([, key]) => key);
  return new Set([...assigned, ...exported].map((key) => `/${key}`));
};

const checkField = (input: SiteInputObject, target: ResolvedFile, parse: Parse): void => {
  const parsed = parse(target, () => ({
    document: readable(input, () =>
      parseStrictJson(target.bytes?.bytes ?? Buffer.alloc(0), JSON_LIMITS, input.file),
    ),
  }));
  const document = 'document' in parsed ? parsed.document : undefined;
  const tokens = pointerTokens(input.pointer);
  if (fieldAt(document, tokens) === undefined) throw noField(input, pointersOf(document), 'field');
};

/** @throws FleetError FIELD_INVALID if the file cannot be parsed */
const readable = <T>(input: SiteInputObject, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    throw inputFault(
      'FIELD_INVALID',
      input,
      `goes to a file that cannot be read: ${error.message}`,
      'Correct the file',
    );
  }
};

/** Pointers that a suggestion is chosen from; a file with more gets one from its first. */
const MAX_POINTERS = 10_000;

/** The pointers of the fields and items of a document, outer ones first. */
export const pointersOf = (document: unknown): readonly string[] => {
  const found: (readonly [pointer: string, node: unknown])[] = [['', document]];
  for (let at = 0; at < found.length && found.length < MAX_POINTERS; at += 1) {
    const [pointer, node] = found[at] as (typeof found)[number];
    if (typeof node !== 'object' || node === null) continue;
    for (const [key, child] of Object.entries(node)) found.push([`${pointer}/${escapeToken(key)}`, child]);
  }
  return found.slice(1).map(([pointer]) => pointer);
};

/** The variables of a playbook are its own, and no file lists them all: one that no task and no template names is misspelled. */
const checkVariables = async (
  { siteInputs, ...playbook }: PlacedPlaybook,
  byPath: ReadonlyMap<string, ResolvedFile>,
  signal: AbortSignal,
): Promise<void> => {
  if (siteInputs.length === 0) return;
  const words = await wordsOfPlaybook(playbook, byPath, signal);
  const unknown = siteInputs.find(({ pointer }) => !words.has(pointer.slice(1)));
  if (!unknown) return;
  const variable = unknown.pointer.slice(1);
  throw inputFault(
    'REFERENCE_MISSING',
    unknown,
    `goes to the variable ${variable}, which nothing in the playbook ${playbook.playbook.name} names`,
    `${didYouMean(variable, words) ?? ''}A variable whose name the playbook puts together belongs under variables, with some value`,
  );
};

/** Names the nearest existing place: a slip of the pen, or the same name elsewhere in the file. */
export const noField = (
  input: Pick<SiteInputObject, 'name' | 'at' | 'pointer' | 'file'>,
  pointers: readonly string[],
  what: 'field' | 'variable',
): FleetError => {
  const name = input.pointer.slice(input.pointer.lastIndexOf('/')).toLowerCase();
  const elsewhere = pointers.find((pointer) => pointer.toLowerCase().endsWith(name));
  const meant =
    didYouMean(input.pointer, pointers) ?? (elsewhere === undefined ? '' : `Did you mean ${elsewhere}? `);
  return inputFault(
    'REFERENCE_MISSING',
    input,
    `goes to ${JSON.stringify(input.pointer)}, and ${input.file} has no such ${what}`,
    `${meant}${PLACEHOLDER_HINT}`,
  );
};
