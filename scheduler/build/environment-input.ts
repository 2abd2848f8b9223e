import type { BlobSource, BlobStore } from '#bundles/formats/layout/blobs';
import type { Layout } from '#bundles/formats/layout/layout';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { RollbackPlace } from '../assemble/bundle/rolled-back.ts';
import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import type { LastTools } from '../assemble/candidate/pinned-renderers.ts';
import type { Contents } from '../assemble/content/content.ts';
import type { PullImage } from '../assemble/images/resolve-images.ts';
import type { EvidencePlace } from '../assemble/images/signatures/evidence-place.ts';
import type { BuildMemory } from '../assemble/incremental/build-memory.ts';
import type { KeptPlaces } from '../assemble/kept/recall-bundle.ts';
import type { Charts } from '../load/charts/charts.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import type { Platform } from '../model/model.ts';
import type { RenderedEnvironment } from '../render/render-environment.ts';

/** A loaded environment, and where the later phases find what it names. */
export type EnvironmentInput = {
  readonly platform: Platform;
  /** The schedule and the rendered packages, if they were computed before. */
  readonly rendered?: Pick<RenderedEnvironment, 'schedule' | 'result'> | undefined;
  readonly sources: Sources;
  /** Layout with images; 'unchecked' if nothing is released, so that images need not exist. */
  readonly images: BlobSource | 'unchecked' | undefined;
  /** Pulls images from registries; undefined: images are not pulled. */
  readonly pull?: PullImage | undefined;
  /** The output layout, which has the images of earlier builds. */
  readonly pulled?: BlobSource | undefined;
  /** As `pulled`, for a build that releases: it gets the blobs of every image before its package counts as built; undefined: blobs are not copied. */
  readonly store?: BlobStore | undefined;
  /** Places to look for image signatures, in this order. Default: none. */
  readonly signatures?: readonly EvidencePlace[] | undefined;
  /** A layout whose releases supply the last good packages of held assignments. */
  readonly previous: { readonly layout: Layout; readonly roots: readonly TrustRoot[] } | undefined;
  /** Assignments that people took back to an earlier package. Default: none. */
  readonly rollbacks?: RollbackPlace | undefined;
  /** Bundles made at the same time: one is compressed while the next is put together. */
  readonly workers: number;
  /** Results kept between builds. They do not affect the output. */
  readonly memory?: BuildMemory | undefined;
  /** Bundles of earlier runs. They do not affect the output. */
  readonly kept?: KeptPlaces | undefined;
  /** Range of Kubernetes versions to judge objects for, instead of the versions of the cluster types. */
  readonly kubernetes?: string | undefined;
  /** Charts that are not in a repository of the fleet; undefined: none. */
  readonly charts?: Charts | undefined;
  /** Downloaded files that host packages name; undefined: none. */
  readonly contents?: Contents | undefined;
  /**
   * Candidate that the sources are taken from. In another environment than its own, the layer of that environment is read as it
   * is now.
   */
  readonly candidate?: GivenCandidate | undefined;
  /** Programs that rendered the last release; asked only if one is needed and nothing else pins it. */
  readonly lastTools?: LastTools | undefined;
  /** Environment whose PATH is searched for rendering programs; default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
};
