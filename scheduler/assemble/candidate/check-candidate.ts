import { type Candidate, MAX_CANDIDATE_BYTES } from '#bundles/formats/candidate';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import { layerRole } from '../../model/images/layer-role.ts';
import type { GivenCandidate } from './given-candidate.ts';

/**
 * Compares the sources that were read with the candidate, before anything is signed. @param exact false for the build of
 * another environment: only sources of both are compared @param whyUnread error for a role whose files could not be read
 * @throws FleetError CANDIDATE_MISMATCH naming the first difference; SOURCE_MISSING, SOURCE_UNREACHABLE
 */
export const checkSources = (
  given: GivenCandidate,
  sources: readonly CandidateSource[],
  environment: string,
  exact: boolean,
  whyUnread: (role: string) => FleetError | undefined = () => undefined,
): void => {
  const now = new Map(sources.map((source) => [keyOf(source), source]));
  for (const known of given.document.sources) {
    const found = now.get(keyOf(known));
    if (found && found.tree !== known.tree && (exact || found.role !== layerRole(environment)))
      throw changed(given, known, found.tree);
    if (!found && exact) throw notRead(given, known.role, whyUnread(known.role));
  }
};

/** Reads a new candidate as the next build and a promotion do. @throws FleetError SCHEMA, TOO_LARGE */
export const checkCandidate = (made: Candidate): void => {
  const what = `the candidate of ${made.environment}`;
  parseDocument('candidate', made, what);
  const { byteLength } = canonicalBytes(made);
  if (byteLength <= MAX_CANDIDATE_BYTES) return;
  throw new FleetError(
    'TOO_LARGE',
    `${what} would have ${byteLength} bytes, at most ${MAX_CANDIDATE_BYTES} are read`,
  );
};

/** @param fleet fleet of the signing keys @throws FleetError CANDIDATE_MISMATCH */
export const checkFleet = ({ document, digest }: GivenCandidate, fleet: string): void => {
  if (document.fleet === fleet) return;
  throw new FleetError(
    'CANDIDATE_MISMATCH',
    `candidate ${shortDigest(digest)} is of the fleet ${document.fleet}, but the keys are of ${fleet}`,
    { hint: 'Give the --keys of its fleet' },
  );
};

/** Compares all other fields of a re-created candidate. @throws FleetError CANDIDATE_MISMATCH */
export const checkRest = (given: GivenCandidate, made: Candidate): void => {
  const { document } = given;
  compareLists(given, 'the image', document.images, made.images);
  compareLists(given, 'the file', document.files ?? [], made.files ?? []);
  compareLists(given, 'the chart', document.charts, made.charts);
  compareLists(
    given,
    'the earlier bundle of',
    (document.kept ?? []).filter(isBuilt).map(toKeptLine),
    (made.kept ?? []).filter(isBuilt).map(toKeptLine),
    'Give --previous with the layout that has the release of then',
  );
};

/** Removals are judged anew when it is released. */
const isBuilt = ({ declaredIn }: NonNullable<Candidate['kept']>[number]): boolean => declaredIn === undefined;

const toKeptLine = ({ clusterType, bundle, assignment }: NonNullable<Candidate['kept']>[number]) => ({
  name: assignment === undefined ? clusterType : `${clusterType}/${assignment}`,
  bundle,
});

/** Another version of a tool may write other bytes and is refused. A different version of the scheduler is reported only. */
export const checkTools = (given: GivenCandidate, tools: Candidate['tools'] = []): void => {
  const known = new Set(given.document.tools?.map(({ name }) => name));
  const extra = given.document.tools && tools.find(({ name }) => !known.has(name));
  if (extra) {
    throw mismatch(
      given,
      `it was not rendered by ${extra.name}`,
      extra.name,
      `Assignments that need ${extra.name} were held then; build without the candidate to include them`,
    );
  }
  for (const { name, version } of given.document.tools ?? []) {
    const found = tools.find((one) => one.name === name);
    if (name === 'fleet-scheduler' || !found || found.version === version) continue;
    throw mismatch(
      given,
      `it was rendered by ${name} ${version}, and this machine has ${found.version}`,
      name,
      `Put ${name} ${version} first on the PATH`,
    );
  }
};

/** A missing commit or an unreachable repository is reported as such, not as a mismatch. */
const notRead = (given: GivenCandidate, role: string, why: FleetError | undefined): FleetError => {
  if (!why) return mismatch(given, `${role} was not read`, role, 'Build without the candidate to see why');
  const code =
    why.code === 'SOURCE_MISSING' || why.code === 'SOURCE_UNREACHABLE' ? why.code : 'CANDIDATE_MISMATCH';
  const what = `candidate ${shortDigest(given.digest)} cannot be built again: ${why.message}`;
  return new FleetError(code, what, { subject: role, hint: why.hint, cause: why });
};

const keyOf = ({ role, path }: CandidateSource): string => `${role}\0${path}`;

const changed = (given: GivenCandidate, known: CandidateSource, tree: Digest): FleetError =>
  mismatch(
    given,
    `${known.role} had the tree ${shortDigest(known.tree)}, and now has ${shortDigest(tree)}`,
    known.role,
    known.commit === undefined
      ? 'It came from a directory, which has no history, and has changed since: put it back as it was or build from its repository'
      : `Give what commit ${known.commit.slice(0, 12)} had`,
  );

type Named = { readonly name: string };

const compareLists = (
  given: GivenCandidate,
  what: string,
  before: readonly Named[],
  now: readonly Named[],
  hint?: string,
): void => {
  const texts = (list: readonly Named[]) =>
    new Map(list.map((one) => [canonicalBytes(one).toString('utf8'), one.name]));
  const [known, found] = [texts(before), texts(now)];
  const lost = [...known].find(([text]) => !found.has(text));
  const extra = [...found].find(([text]) => !known.has(text));
  const [, name] = lost ?? extra ?? [];
  if (name === undefined) return;
  throw mismatch(
    given,
    `${what} ${name} is ${lost ? 'not what it was' : 'not among what it was made from'}`,
    name,
    hint,
  );
};

const mismatch = (given: GivenCandidate, what: string, subject: string, hint?: string): FleetError =>
  new FleetError(
    'CANDIDATE_MISMATCH',
    `candidate ${shortDigest(given.digest)} cannot be built again: ${what}`,
    {
      subject,
      hint,
    },
  );
