import { FleetError } from '#bundles/errors';

/** Limits on what the applications of one workspace may use of the scheduler (docs/workspaces.md). */
export type Limits = {
  /** Bytes of one file in its repositories. */
  readonly fileBytes: number;
  /** Bytes of all files of one deployment target. */
  readonly assignmentBytes: number;
  /** Bytes of all files of all its deployment targets in one environment. */
  readonly workspaceBytes: number;
  /** Bytes of the YAML of one deployment target, source or rendered. */
  readonly manifestBytes: number;
  /** Upper bound on values in that YAML; counted as line ends, commas and opening brackets. */
  readonly manifestValues: number;
  /** Upper bound on objects in that YAML; counted as documents. */
  readonly manifestObjects: number;
  /** Seconds that one package may take on a host, by its own timeouts (bundles/formats/bounds/package-seconds.ts). */
  readonly packageSeconds: number;
  /** The same for all its packages on one cluster type together, which one agent applies. */
  readonly workspaceSeconds: number;
};

export const DEFAULT_LIMITS: Limits = {
  fileBytes: 64 << 20,
  assignmentBytes: 256 << 20,
  workspaceBytes: 1 << 30,
  manifestBytes: 16 << 20,
  manifestValues: 500_000,
  manifestObjects: 10_000,
  packageSeconds: 1800,
  workspaceSeconds: 7200,
};

/** The limits of a workspace, and the names that errors about them need. */
export type Bound = { readonly limits: Limits; readonly workspace: string; readonly subject: string };

type Limited = { readonly name: string; readonly limits?: Partial<Limits> | undefined };

/** @param subject the application or deployment target being read */
export const boundOf = (
  workspaces: readonly Limited[] | undefined,
  workspace: string,
  subject: string,
): Bound => {
  const given = workspaces?.find(({ name }) => name === workspace)?.limits;
  const limits = { ...DEFAULT_LIMITS, ...given };
  return { limits, workspace, subject };
};

/** @param what has the value: 'a.yaml', 'all files' @throws FleetError WORKSPACE_LIMIT when `value` exceeds the limit */
export const checkLimit = (bound: Bound, limit: keyof Limits, value: number, what: string): void => {
  if (value > bound.limits[limit]) throw overLimit(bound, limit, value, what);
};

export const overLimit = (
  { limits, workspace, subject }: Bound,
  limit: keyof Limits,
  value: number | undefined,
  what: string,
): FleetError => {
  const unit = unitOf(limit);
  const has = value === undefined ? `more ${unit} than the limit` : `${value} ${unit}, more than the limit`;
  const instead = insteadOf(limit);
  return new FleetError('WORKSPACE_LIMIT', `${what}: ${has} ${limit} allows, which is ${limits[limit]}`, {
    subject,
    hint:
      workspace === ''
        ? `${instead}, or give the WorkloadRegistration a workspace and raise the limit in spec.limits of that Workspace`
        : `${instead}, or raise spec.limits.${limit} of the Workspace ${workspace} in the platform`,
  });
};

const unitOf = (limit: keyof Limits): string => {
  if (limit.endsWith('Bytes')) return 'bytes';
  if (limit.endsWith('Seconds')) return 'seconds';
  return limit === 'manifestValues' ? 'values' : 'documents';
};

const insteadOf = (limit: keyof Limits): string => {
  if (limit.endsWith('Seconds')) return 'Shorten its timeouts';
  return limit === 'fileBytes' ? 'Make it smaller, bring it with url: in a HostPackage' : 'Make it smaller';
};

const [NEWLINE, COMMA, BRACKET, BRACE, DASH] = [...Buffer.from('\n,[{-')] as [
  number,
  number,
  number,
  number,
  number,
];

/** Estimates the cost of parsing YAML: time and memory grow with values and documents, not with bytes. */
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

/** Checks YAML against the limits before it is parsed. @throws FleetError WORKSPACE_LIMIT */
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
