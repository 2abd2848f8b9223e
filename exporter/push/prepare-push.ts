import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { isImage } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Digest, digestFromHex } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { parseChannel } from '#bundles/names';
import { choosePointers, type Selection } from '#bundles/transport/publish/choose-pointers';
import { judgePointer } from '#bundles/transport/publish/judge-pointer';
import { type MirroredImage, planMirror } from '#bundles/transport/publish/plan-mirror';
import { planBatch } from '#bundles/transport/publish/plan-batch';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import type { Pointer, UploadBatch } from '#bundles/transport/publish/upload-batch';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import type { Registry } from '#bundles/transport/registry/registry';
import { formatRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { TrustRoot } from '#bundles/trust/root/root';
import { judgeRelease, judgeRoots } from '../source/check/judge.ts';
import { mediumOffering } from './medium-offering.ts';
import { type BaseAccess, openBaseAccess } from './open-base-access.ts';
import { refuseMissing } from './refuse-missing.ts';

export type PushRequest = {
  readonly selection: Selection;
  /** Digest of the pinned root; undefined: none was given. */
  readonly pinned: Digest | undefined;
  /** Allow replacing a newer release by an older one, for emergencies. */
  readonly goBack: boolean;
  /** Check every blob, also of bundles whose tag exists. */
  readonly repair: boolean;
  readonly now: Date;
  /** Dry run: nothing is sent and nothing is written to the medium. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
};

/** A pointer of the medium, compared with the registry's. */
export type PreparedPointer = {
  readonly pointer: Pointer;
  readonly before: Descriptor | undefined;
  /** undefined: the registry has the same pointer and therefore its content. */
  readonly batch: UploadBatch | undefined;
  /** True if it is older than the registry's. */
  readonly older: boolean;
};

export type PreparedPush = {
  readonly root: TrustRoot;
  readonly chain: readonly TrustRoot[];
  readonly reach: BaseAccess;
  readonly pointers: readonly PreparedPointer[];
  readonly mirror: readonly MirroredImage[];
};

/** Concurrent requests; each mostly waits for the network. */
const WIDTH = 8;

/**
 * Makes all checks before the first byte is sent: signatures, expiry, completeness, and that no pointer goes back. Judges like
 * an agent without any earlier state.
 * @throws FleetError the code with which an agent would refuse the medium; ROLLBACK, EQUIVOCATION, MISSING_BASE,
 *   CHANNEL_MISSING, REGISTRY_*
 */
export const preparePush = async (
  medium: OpenMedium,
  registry: Registry,
  { selection, pinned, goBack, repair, now, dryRun, signal }: PushRequest,
): Promise<PreparedPush> => {
  const offering = mediumOffering(medium);
  const documents = medium.medium?.documents ?? [];
  const evidence = { blobs: offering.blobs, documents, now };
  const root = await judgeRoots(evidence, pinned);
  const chain = await readFleetChain(offering);
  const chosen = choosePointers(offering, selection);
  if (chosen.length === 0)
    throw new FleetError('CHANNEL_MISSING', `${medium.path} has no content for a registry`);

  const paths = new Set(chosen.map(({ repository }) => repository));
  const reach = openBaseAccess(offering.blobs, registry, paths);
  const asked = await inParallel(
    chosen,
    WIDTH,
    async (pointer) => {
      const before = await registry.repository(pointer.repository).resolve(pointer.tag, signal);
      return { pointer, before, isThere: before?.digest === pointer.artifact.digest && !repair };
    },
    signal,
  );
  const bundles = [];
  for (const { pointer } of asked.filter((it) => !it.isThere && it.pointer.tag === 'release')) {
    const release = await judgeRelease(evidence, root, parseChannel(pointer.repository));
    for (const { digest } of release.bundles) bundles.push(await readBundle(reach.blobs, digest, signal));
  }
  const closures = bundles.map(({ config }) => config.closure);
  for (const path of mirrorPaths(closures)) paths.add(path);
  const lists = await inParallel(bundles, WIDTH, (it) => closureBlobs(reach.blobs, it, signal), signal);
  const absent = await absentFrom(reach, lists.flat(), signal);
  if (absent.length > 0) {
    const holds = await bundlesIn(registry, chosen, signal);
    await refuseMissing(
      medium,
      formatRegistryAddress(registry.address),
      absent,
      holds,
      dryRun ? undefined : now,
    );
  }
  const leases = documents.filter(({ role }) => role === 'lease');
  const pointers = await inParallel(
    asked,
    WIDTH,
    async ({ pointer, before, isThere }): Promise<PreparedPointer> => {
      if (isThere) return { pointer, before, batch: undefined, older: false };
      const batch = await planBatch(reach.blobs, pointer, root, now, signal, leases);
      const target = registry.repository(pointer.repository);
      let older = false;
      if (before && before.digest !== pointer.artifact.digest) {
        await judgePointer(target, batch, before, chain).catch((error: unknown) => {
          older = isFleetError(error, 'ROLLBACK') && goBack;
          if (!older) throw inWordsOfPush(error);
        });
      }
      return { pointer, before, batch, older };
    },
    signal,
  );
  return { root, chain, reach, pointers, mirror: await planMirror(reach.blobs, closures, signal) };
};

const mirrorPaths = (closures: readonly (readonly ClosureEntry[])[]): readonly string[] =>
  closures.flatMap((closure) => closure.filter(isImage).flatMap(({ names = [] }) => names.map(mirrorPath)));

const absentFrom = async (
  { blobs }: BaseAccess,
  wanted: readonly Descriptor[],
  signal: AbortSignal,
): Promise<readonly Digest[]> => {
  const unique = new Set(wanted.map(({ digest }) => digest));
  const found = await inParallel(
    unique,
    WIDTH,
    async (digest) => ((await blobs.size(digest)) === undefined ? [digest] : []),
    signal,
  );
  return found.flat();
};

/** Bundles of the chosen channels in the registry, which the next delta can assume. */
const bundlesIn = async (
  registry: Registry,
  chosen: readonly Pointer[],
  signal: AbortSignal,
): Promise<readonly Digest[]> => {
  const repositories = new Set(chosen.filter(({ tag }) => tag === 'release').map((it) => it.repository));
  const held = new Set<Digest>();
  for (const path of repositories) {
    for (const tag of await registry.repository(path).tags(signal)) {
      const [, hex] = /^b-([0-9a-f]{64})$/.exec(tag) ?? [];
      if (hex !== undefined) held.add(digestFromHex(hex));
    }
  }
  return [...held].toSorted();
};

const HINTS: Readonly<Record<string, string>> = {
  ROLLBACK:
    'Nothing was pushed. This medium is the older one: push a newer one, or say with --go-back why the registry must have the older release',
  EQUIVOCATION:
    'Nothing was pushed. The registry and the medium contradict each other, as those of two fleets would; ask the office which one is right',
  ROOT_BEHIND: 'Nothing was pushed. The registry has a newer root than this medium: ask for a newer medium',
};

/** Replaces the hints of errors that are written for publishing at the office. */
const inWordsOfPush = (error: unknown): unknown => {
  if (!isFleetError(error)) return error;
  const hint = HINTS[error.code];
  if (hint === undefined) return error;
  return new FleetError(error.code, error.message, { subject: error.subject, hint, cause: error });
};
