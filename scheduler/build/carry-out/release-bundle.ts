import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import { reachesEveryone } from '#bundles/trust/accept/is-selected';
import { VERSION } from '#bundles/version';
import type { EnvironmentBuild } from '../../assemble/environment-build.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { bundleReference } from '../../load/releases/references.ts';
import type { RolloutPolicy } from '../../model/promotion.ts';
import { writeAwaiting } from '../../release/approvals/awaiting.ts';
import { restateBundle } from '../../release/approvals/restate-bundle.ts';
import { isApproved, type SignedBundle, signBundle } from '../../release/approvals/sign-bundle.ts';
import type { BuildLineage } from '../../release/chain/open-chain.ts';
import { limitHeld } from '../../release/write/limit-statement.ts';
import type { Releases } from '../../release/write/open-releases.ts';
import { writeRelease } from '../../release/write/write-release.ts';
import { type Copying, copyImages, writeBundle } from '../../release/write/write-blobs.ts';
import { releaseReferences } from '../../release/reissue/reissue-release.ts';
import {
  type FirstStage,
  beginRelease,
  startRollout,
  supersededBy,
} from '../../release/rollout/begin-rollout.ts';
import { planDocument } from '../../release/rollout/plan-document.ts';
import type { ChannelFacts } from '../decide/read-facts.ts';
import type { ChannelOutcome } from '../channel-outcome.ts';

export type Work = Copying & {
  readonly layout: Layout;
  readonly releases: Releases;
  readonly keys: KeyDirectory;
  readonly now: Date;
  /** Only in a platform with a chain. */
  readonly lineage: BuildLineage | undefined;
  /** The stages in which releases reach the agents. Default: all agents at once. */
  readonly rolloutPolicy: RolloutPolicy | undefined;
  /** The candidate document, canonical JSON. */
  readonly candidate: Buffer;
  readonly sources: EnvironmentBuild['sources'];
  /** The layers that select sites; undefined without any. */
  readonly siteLayers: Buffer | undefined;
};

/** The result of writing one bundle; `references` are index entries, for the caller to write. */
export type Written = { readonly references: ReadonlyMap<string, Descriptor> } & (
  | ({ readonly kind: 'released'; readonly version: number } & Pick<ChannelOutcome, 'stage' | 'superseded'>)
  /** `files`: the signature files of the statement. */
  | { readonly kind: 'restated'; readonly files: readonly Buffer[] }
  /** The signatures of others are missing. */
  | { readonly kind: 'awaiting' }
);

/** Writes and signs a bundle, then releases it or, if signatures are missing, stores it. Does not write the index. */
export const releaseBundle = async (work: Work, channel: ChannelFacts): Promise<Written> => {
  const { layout, keys, releases, now } = work;
  const { bundle, newest, previous, revocations } = channel;
  const { images, digest, beginning, signed } = await writeSigned(work, channel);
  if (!isApproved(signed, keys.root))
    return await store(work, channel, { images, digest, beginning, signed });
  const { plan, rollout, isNew } = beginning;
  // Durable before the release that follows from it.
  if (plan && isNew) await startRollout(releases, keys, plan, now);
  const superseded = isNew ? await supersededBy(layout, previous) : undefined;
  const stage = isNew ? plan?.plan.stages[0]?.name : undefined;
  const { kind, config, manifest } = bundle.bundle;
  const { version, artifact, references } = await writeRelease(layout, keys, {
    channel: channel.channel,
    bundle: { kind, digest, manifest: manifest.descriptor, minAgent: config.requirements.agent ?? null },
    candidate: signed.candidate,
    bundleStatements: signed.files,
    previous: newest,
    rollout,
    documents: plan ? [planDocument(channel.channel, plan)] : [],
    revocations,
    now,
  });
  const past = releaseReferences(channel.channel, artifact, newest);
  return defined({
    kind: 'released',
    version,
    references: new Map([...images, ...references, ...past]),
    stage,
    superseded,
  });
};

/** Signs the statement of a bundle that is released already. If signatures are missing, as releaseBundle. */
export const restateReleased = async (work: Work, channel: ChannelFacts): Promise<Written> => {
  const written = await writeSigned(work, channel);
  const { signed, digest } = written;
  if (!isApproved(signed, work.keys.root)) return await store(work, channel, written);
  const references = await restateBundle(work.layout, channel.channel, digest, signed);
  return { kind: 'restated', files: signed.files, references };
};

type Signed = {
  readonly images: ReadonlyMap<string, Descriptor>;
  readonly digest: Digest;
  readonly beginning: FirstStage;
  readonly signed: SignedBundle;
};

const writeSigned = async (
  { layout, keys, now, signal, whole, lineage, rolloutPolicy, candidate, sources, siteLayers }: Work,
  { channel, bundle, held, newest, previous, change }: ChannelFacts,
): Promise<Signed> => {
  const images = await copyImages(layout.blobs, channel, bundle, { signal, whole });
  await writeBundle(layout.blobs, bundle.bundle);
  const { kind, digest } = bundle.bundle;
  const predicate: BundlePredicate = {
    fleet: keys.root.fleet,
    ...channel,
    kind,
    candidate: digestOf(candidate),
    ...defined({
      shared: lineage?.shared,
      promoted: lineage?.promoted,
      siteLayers: siteLayers && digestOf(siteLayers),
    }),
    sources,
    held: limitHeld(held),
    builder: `fleet-scheduler/${VERSION}`,
    builtAt: formatTime(now),
  };
  // Content that ran before goes to all agents at once, unless not all of them have the release before.
  const isBack = change?.back === true && previous && reachesEveryone(previous.predicate.rollout);
  const beginning = await beginRelease(layout, isBack ? undefined : rolloutPolicy, {
    channel,
    candidate: predicate.candidate,
    bundles: [digest],
    previous,
    follows: newest?.predicate.version ?? 0,
  });
  const signed = await signBundle(layout, keys, { channel, digest, predicate, candidate });
  return { images, digest, beginning, signed };
};

/** Stores a bundle until the signatures of others are there. */
const store = async (
  { layout }: Work,
  { channel, bundle }: ChannelFacts,
  { images, digest, beginning: { plan }, signed }: Signed,
): Promise<Written> => {
  const awaiting = await writeAwaiting(layout, { channel, bundle: digest, plan, ...signed });
  const named = [bundleReference(channel, digest), bundle.bundle.manifest.descriptor] as const;
  return { kind: 'awaiting', references: new Map([...images, named, ...awaiting]) };
};
