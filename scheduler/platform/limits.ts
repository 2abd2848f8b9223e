import { FleetError } from '#bundles/errors';
import type { Workspace } from './model.ts';

/** What the applications of one workspace may cost the scheduler (docs/workspaces.md). */
export type Limits = {
  /** Bytes of one file of its repositories. */
  readonly fileBytes: number;
  /** Bytes of all files that one deployment target is made of. */
  readonly assignmentBytes: number;
  /** Bytes of all files of all its deployment targets in an environment. */
  readonly workspaceBytes: number;
  /** Bytes of the YAML of one deployment target, as it is written or rendered. */
  readonly manifestBytes: number;
  /** Upper bound of the values in that YAML: line ends, commas and opening brackets are counted. */
  readonly manifestValues: number;
  /** Upper bound of the objects in that YAML: documents are counted. */
  readonly manifestObjects: number;
};

export const DEFAULT_LIMITS: Limits = {
  fileBytes: 64 << 20,
  assignmentBytes: 256 << 20,
  workspaceBytes: 1 << 30,
  manifestBytes: 16 << 20,
  manifestValues: 500_000,
  manifestObjects: 10_000,
};

/** The limits of a workspace, and what errors about them have to name. */
export type Bound = { readonly limits: Limits; readonly workspace: string; readonly subject: string };

/** @param subject the application or deployment target that is read */
export const boundOf = (
  workspaces: readonly Workspace[] | undefined,
  workspace: string,
  subject: string,
): Bound => {
  const given = workspaces?.find(({ name }) => name === workspace)?.limits;
  const limits = { ...DEFAULT_LIMITS, ...given };
  return { limits, workspace, subject };
};

/** @throws FleetError WORKSPACE_LIMIT when `value` is over the limit. @param what has it: 'a.yaml', 'all files' */
export const checkLimit = (bound: Bound, limit: keyof Limits, value: number, what: string): void => {
  if (value > bound.limits[limit]) throw overLimit(bound, limit, value, what);
};

export const overLimit = (
  { limits, workspace, subject }: Bound,
  limit: keyof Limits,
  value: number | undefined,
  what: string,
): FleetError => {
  const unit = limit.endsWith('Bytes') ? 'bytes' : limit === 'manifestValues' ? 'values' : 'documents';
  const has = value === undefined ? `more ${unit} than the limit` : `${value} ${unit}, more than the limit`;
  const instead =
    limit === 'fileBytes' ? 'Make it smaller, bring it with url: in a HostPackage' : 'Make it smaller';
  return new FleetError('WORKSPACE_LIMIT', `${what}: ${has} ${limit} allows, which is ${limits[limit]}`, {
    subject,
    hint:
      workspace === ''
        ? `${instead}, or give the WorkloadRegistration a workspace and raise the limit in spec.limits of that Workspace`
        : `${instead}, or raise spec.limits.${limit} of the Workspace ${workspace} in the platform`,
  });
};

const [NEWLINE, COMMA, BRACKET, BRACE, DASH] = [...Buffer.from('\n,[{-')] as [
  number,
  number,
  number,
  number,
  number,
];

/** What reading YAML will cost, without reading it: time and memory grow with values and documents, not with bytes. */
const measureYaml = (bytes: Uint8Array): { readonly values: number; readonly documents: number } => {
  let [values, documents] = [1, 1];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1;
    if (byte !== NEWLINE) continue;
    values += 1;
    if (bytes[at + 1] === DASH && bytes[at + 2] === DASH && bytes[at + 3] === DASH) documents += 1;
  }
  return { values, documents };
};

/** Judges YAML before it is parsed. @throws FleetError WORKSPACE_LIMIT */
export const checkYaml = (bound: Bound, texts: Iterable<Uint8Array>, what: string): void => {
  let [size, values, documents] = [0, 0, 0];
  for (const text of texts) {
    size += text.length;
    checkLimit(bound, 'manifestBytes', size, what);
    const measured = measureYaml(text);
    values += measured.values;
    documents += measured.documents;
  }
  checkLimit(bound, 'manifestValues', values, what);
  checkLimit(bound, 'manifestObjects', documents, what);
};
