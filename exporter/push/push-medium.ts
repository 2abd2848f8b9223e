import { type Digest, compareBytes } from '#bundles/digest';
import { inParallel } from '#bundles/in-parallel';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openCarrier } from '#bundles/transport/publish/carrier';
import {
  addTransfers,
  type TransferCounts,
  NO_TRANSFERS,
  sendBatch,
  sendStages,
} from '#bundles/transport/publish/send-batch';
import type { PointerTag } from '#bundles/transport/publish/upload-batch';
import { surveyBatch } from '#bundles/transport/publish/survey-batch';
import { pushEvidence } from '#bundles/transport/registry/push-evidence';
import type { Registry, RegistryAddress } from '#bundles/transport/registry/registry';
import { type PreparedPointer, type PreparedPush, type PushRequest, preparePush } from './prepare-push.ts';
import { removeNeeds } from './refuse-missing.ts';
import { bundleTag, imageTag } from '#bundles/transport/registry/references';

export type PushedPointer = {
  /** 'prod/line', 'sites/plant-7' */
  readonly repository: string;
  readonly tag: PointerTag;
  /** 'release 8'; undefined if the registry had it. */
  readonly name: string | undefined;
  readonly outcome: 'sent' | 'unchanged' | 'superseded' | 'planned';
  /** True if it replaced a newer release. */
  readonly wentBack: boolean;
  readonly freight: TransferCounts;
};

export type Pushed = {
  readonly fleet: string;
  readonly root: { readonly version: number; readonly digest: Digest; readonly dev: boolean };
  /** True if the root was given by hand. Otherwise the medium is only consistent with itself. */
  readonly anchored: boolean;
  readonly pointers: readonly PushedPointer[];
  readonly images: { readonly count: number; readonly freight: TransferCounts };
  /** Name -> reference in the registry. */
  readonly references: References;
};

export type PushHooks = {
  /** Called with the total bytes of blobs to check, before the first is sent. */
  readonly onPrepared?: (bytes: number) => void;
  /** Called with the bytes that are in the registry, sent or found there. */
  readonly onBytes?: (bytes: number) => void;
};

/** Concurrent images or pointers. The upload itself limits concurrent blobs. */
const WIDTH = 8;

/**
 * Pushes a medium into a registry: images under their own names first, then content of channels and sites, pointers last. After a kill the
 * registry has its old state and some more blobs, and another run continues.
 * @throws FleetError with the codes of preparePush before anything is sent; later REGISTRY_*, DIGEST_MISMATCH, SIZE_MISMATCH, TRUNCATED
 */
export const pushMedium = async (
  medium: OpenMedium,
  registry: Registry,
  order: PushRequest,
  hooks: PushHooks = {},
): Promise<Pushed> => {
  const prepared = await preparePush(medium, registry, order);
  const { root } = prepared;
  hooks.onPrepared?.(bytesOf(prepared));
  const sent = order.dryRun
    ? await survey(prepared, registry, order)
    : await send(prepared, registry, order, hooks);
  if (!order.dryRun) await removeNeeds(medium);
  return {
    fleet: root.fleet,
    root: { version: root.version, digest: root.digest, dev: root.dev },
    anchored: order.pinned !== undefined,
    ...sent,
    references: referencesOf(prepared, registry.address),
  };
};

type Sent = Pick<Pushed, 'pointers' | 'images'>;

const send = async (
  { chain, reach, pointers, mirror }: PreparedPush,
  registry: Registry,
  { repair, signal }: PushRequest,
  { onBytes }: PushHooks,
): Promise<Sent> => {
  const seen = new Set<Digest>();
  const carrier = openCarrier(
    reach.blobs,
    (_path, { digest, size }) => {
      if (!seen.has(digest)) onBytes?.(size);
      seen.add(digest);
    },
    reach.placeOf,
  );
  const common = { carrier, hasReferrers: true, repair };
  const images = await inParallel(
    mirror,
    WIDTH,
    async ({ path, image, stages }, stop) => {
      const target = registry.repository(path);
      const transfers = await sendStages(path, stages, { ...common, target, signal: stop });
      await pushEvidence(target, image, reach.blobs, stop);
      return transfers;
    },
    signal,
  );
  const sendOne = async (one: PreparedPointer, stop: AbortSignal): Promise<PushedPointer> => {
    const { pointer, before, batch, older } = one;
    const { repository, tag } = pointer;
    if (!batch) return unchanged(one);
    const target = registry.repository(repository);
    const { outcome, freight: transfers } = await sendBatch(batch, {
      ...common,
      target,
      chain,
      before,
      signal: stop,
    });
    return { repository, tag, name: batch.version.name, outcome, wentBack: older, freight: transfers };
  };
  const isRelease = ({ pointer }: PreparedPointer): boolean => pointer.tag === 'release';
  const moved: PushedPointer[] = [];
  // Releases first, because leases and site statements refer to them.
  for (const wave of [pointers.filter(isRelease), pointers.filter((it) => !isRelease(it))])
    moved.push(...(await inParallel(wave, WIDTH, sendOne, signal)));
  return {
    pointers: moved,
    images: { count: mirror.length, freight: images.reduce(addTransfers, NO_TRANSFERS) },
  };
};

const survey = async (
  { pointers, mirror }: PreparedPush,
  registry: Registry,
  { repair, signal }: PushRequest,
): Promise<Sent> => {
  let images = NO_TRANSFERS;
  const brought = new Set<Digest>();
  for (const { path, stages } of mirror) {
    const target = registry.repository(path);
    images = addTransfers(images, await surveyBatch({ stages }, target, repair, brought, signal));
  }
  const planned: PushedPointer[] = [];
  for (const one of pointers) {
    const { pointer, batch, older } = one;
    const { repository, tag } = pointer;
    if (!batch) {
      planned.push(unchanged(one));
      continue;
    }
    const transfers = await surveyBatch(batch, registry.repository(repository), repair, brought, signal);
    const { name } = batch.version;
    planned.push({ repository, tag, name, outcome: 'planned', wentBack: older, freight: transfers });
  }
  return { pointers: planned, images: { count: mirror.length, freight: images } };
};

const unchanged = ({ pointer: { repository, tag } }: PreparedPointer): PushedPointer => ({
  repository,
  tag,
  name: undefined,
  outcome: 'unchanged',
  wentBack: false,
  freight: NO_TRANSFERS,
});

const bytesOf = ({ pointers, mirror }: PreparedPush): number => {
  const sizes = new Map<Digest, number>();
  const stages = [...mirror, ...pointers.flatMap(({ batch }) => batch ?? [])].map((it) => it.stages);
  for (const { blobs } of stages.flat(2)) for (const { digest, size } of blobs) sizes.set(digest, size);
  return [...sizes.values()].reduce((sum, size) => sum + size, 0);
};

/** Name ('registry.example/app@sha256:...', 'prod/line:release') -> reference in the registry. */
export type References = Readonly<Record<string, string>>;

const referencesOf = (
  { pointers, mirror }: Pick<PreparedPush, 'pointers' | 'mirror'>,
  { host, prefix }: RegistryAddress,
): References => {
  const at = (path: string): string => [host, prefix, path].filter(Boolean).join('/');
  const found: (readonly [string, string])[] = [];
  for (const { path, names, image } of mirror)
    for (const name of names) found.push([name, `${at(path)}:${imageTag(image.digest)}@${image.digest}`]);
  for (const { pointer, batch } of pointers) {
    const { repository, tag, artifact } = pointer;
    found.push([`${repository}:${tag}`, `${at(repository)}:${tag}@${artifact.digest}`]);
    for (const upload of batch?.stages.flat() ?? []) {
      const { digest } = upload.descriptor;
      if (upload.tag !== bundleTag(digest)) continue;
      found.push([`${repository}@${digest}`, `${at(repository)}:${upload.tag}@${digest}`]);
    }
  }
  return Object.fromEntries(found.toSorted(([a], [b]) => compareBytes(a, b)));
};
