import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { digestOf, hexOf } from '#bundles/digest';

/** An input that once caused an answer other than a FleetError. The component tests run each of them. */
export type StoredFinding = {
  readonly target: string;
  readonly error: string;
  /** Base64. */
  readonly input: string;
  /** With these it was found; the input alone is enough to see it again. */
  readonly seed: number;
  readonly number: number;
};

const FOLDER = join(import.meta.dirname, 'findings');
/** A finding is the same wherever it was found. */
const ROOT = `${pathToFileURL(join(import.meta.dirname, '..', '..')).href}/`;

/** @returns the path of its file */
export const storeFinding = (finding: StoredFinding): string => {
  mkdirSync(FOLDER, { recursive: true });
  const name = `${finding.target}-${hexOf(digestOf(finding.input)).slice(0, 12)}.json`;
  const stored = { ...finding, error: finding.error.replaceAll(ROOT, '') };
  writeFileSync(join(FOLDER, name), `${JSON.stringify(stored, null, 2)}\n`);
  return join('test', 'fuzz', 'findings', name);
};

export const storedFindings = (): readonly (StoredFinding & { readonly file: string })[] =>
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => ({
      file: name,
      ...(JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as StoredFinding),
    }));
