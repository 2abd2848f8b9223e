import { isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import { openTools } from '../../load/applications/tools/find-tool.ts';
import { majorVersion, type PinnedTool, pinTools } from '../../load/applications/tools/pin-tools.ts';
import { cachedCharts } from '../../load/charts/chart-cache.ts';
import type { ChartPlaces } from '../../load/charts/chart-places.ts';
import { chartKey, isChartKey, openCharts } from '../../load/charts/charts.ts';
import { noCharts } from '../../load/charts/no-charts.ts';
import type { Root } from '../../load/load-platform.ts';
import { uniqueProblems } from '../../model/problems.ts';
import { loadToLock, type LockRequest } from './load-to-lock.ts';
import { renderToLock } from './render-to-lock.ts';
import { collectReferences } from '../../assemble/lock/collect-references.ts';
import type { ImagePlaces } from '../../load/images/image-places.ts';
import { type LockedAttachments, lockAttachments } from '../../assemble/images/lock-attachments.ts';
import { collectCharts, lockCharts } from '../../assemble/images/lock-charts.ts';
import { updateLockFile } from '../../assemble/images/lock-file.ts';
import { type FreshImage, lockImages } from '../../assemble/images/lock-images.ts';
import type { LockedImage, ImageReference } from '../../assemble/images/image-lock.ts';

export type LockOptions = LockRequest & {
  readonly places: ImagePlaces;
  /** Source of charts; undefined: only charts that were fetched before. */
  readonly charts?: ChartPlaces | undefined;
};

export type PlatformLock = {
  /** undefined: nothing changed. */
  readonly file: string | undefined;
  readonly images: readonly LockedImage[];
  /** Major versions that were locked now, by the program: helm, kustomize. */
  readonly renderers: ReadonlyMap<string, string>;
  /** Changed entries of attachments. */
  readonly attachments: readonly LockedAttachments[];
  /** Attachments that are not carried, as advice. */
  readonly leftOut: readonly FleetError[];
  /** Unused entries. Reported only if all files could be read. */
  readonly unused: readonly string[];
  /** Errors of images that were not found. */
  readonly missing: readonly FleetError[];
  /** Errors of files that could not be read, whose images are therefore unknown. */
  readonly unread: readonly FleetError[];
};

/**
 * Locks every tag of a platform to a digest, in images.lock.yaml beside it. Digests that were found are written even if others
 * were not. Phases: load, lock charts, plan and render, collect, look up, write. @throws FleetError USAGE for a platform that is not a directory, or a name that no manifest has
 */
export const lockPlatform = async (options: LockOptions): Promise<PlatformLock> => {
  // load
  const loaded = await loadToLock(options);
  if (!loaded) {
    throw new FleetError('USAGE', 'the lock file is written beside the platform, and this one is a Git URL', {
      hint: 'Clone it, give the directory, and commit what was written',
    });
  }
  const { sources, root, platforms } = loaded;
  const held = platforms.flatMap(({ heldWorkloads = [] }) => heldWorkloads.flatMap(({ errors }) => errors));
  const unread = [...loaded.unread, ...held];
  // lock charts
  const wanted = collectCharts(platforms);
  const chartKeys = wanted.charts.map(({ reference }) => chartKey(reference));
  const chartNamed = options.update !== 'all' && options.update.some(isChartKey);
  const charts = await lockCharts(
    wanted.charts,
    root.imageLocks,
    options.charts,
    renewChart(options.update, chartKeys),
    options.signal,
  );
  // The images of a chart are known after rendering, which uses the chart version locked above.
  const withCharts = new Map([
    ...root.imageLocks,
    ...charts.locked.map((it) => [it.image, it.after] as const),
  ]);
  const pinnedTools = pinTools(openTools(options.env ?? process.env, options.signal), (name) =>
    options.update === 'all' ? undefined : lockedTool(root, name),
  );
  // plan, render
  const rendered = renderToLock(
    platforms.map((platform) => ({ ...platform, imageLocks: withCharts })),
    {
      sources,
      tools: pinnedTools,
      charts: openCharts(cachedCharts(options.cacheDirectory, options.charts?.fetch ?? noCharts)),
    },
    options.signal,
  );
  // collect
  const { references, pinned, problems: more, tools } = await collectReferences(rendered, options.signal);
  unread.push(...wanted.problems, ...more);
  // look up
  const renew = chartNamed
    ? () => false
    : renewOf(
        options.update,
        references.map(({ image }) => image),
      );
  const images = await lockImages(
    references,
    { images: root.imageLocks, indexes: root.imageIndexes, platforms: root.imagePlatforms },
    options.places,
    renew,
    options.signal,
  );
  const locked = [...charts.locked, ...images.locked];
  const beside = chartNamed
    ? NOTHING_BESIDE
    : await lockAttachments(
        {
          fresh: freshOf(references, images.locked, renew),
          pinned: options.update !== 'all' && options.update.length > 0 ? [] : pinned,
          known: root.imageAttachments,
          renewAll: options.update === 'all',
          take: root.take,
        },
        options.places,
        options.signal,
      );
  const missing = [...charts.problems, ...images.problems, ...beside.problems];
  const used = new Set([...references.map(({ image }) => normaliseImageName(image)), ...chartKeys]);
  const renderers = freshRenderers(root, tools);
  const complete = loaded.isWhole && unread.length === 0;
  return {
    // write
    file: await updateLockFile(
      loaded.directory,
      locked,
      [...describeDropped(root, images.locked, beside.changed), ...beside.changed],
      renderers,
    ),
    images: locked,
    renderers,
    attachments: beside.changed,
    leftOut: beside.leftOut,
    unused: complete
      ? [...root.imageLocks.keys()].filter(
          (key) => !used.has(isChartKey(key) ? key : normaliseImageName(key)),
        )
      : [],
    missing,
    unread: uniqueProblems(unread),
  };
};

const lockedTool = ({ renderers }: Root, name: string): PinnedTool | undefined => {
  const version = renderers.get(name);
  const hint = 'or lock the new version with --update';
  return version === undefined ? undefined : { version, by: 'images.lock.yaml', hint };
};

/** Major versions that the lock file does not have yet. With another version than the locked one nothing is rendered, unless all is updated. */
const freshRenderers = (
  { renderers }: Root,
  tools: readonly { readonly name: string; readonly version: string }[],
): ReadonlyMap<string, string> =>
  new Map(
    tools.flatMap(({ name, version }) => {
      const major = name === 'helm' || name === 'kustomize' ? majorVersion(version) : undefined;
      return major === undefined || renderers.get(name) === major ? [] : [[name, major] as const];
    }),
  );

const NOTHING_BESIDE = { changed: [], leftOut: [], problems: [] };

/** Images that are looked up; locked images that stay are not. */
const freshOf = (
  references: readonly ImageReference[],
  locked: readonly LockedImage[],
  renew: (reference: string) => boolean,
): readonly FreshImage[] => {
  const at = new Map(references.map((one) => [normaliseImageName(one.image), one.at]));
  return locked.flatMap((one) => {
    const full = normaliseImageName(one.image);
    const place = at.get(full);
    return place && (one.before !== one.after || renew(full)) ? [{ ...one, at: place }] : [];
  });
};

/** Attachments of a digest that no tag resolves to any more are dropped. */
const describeDropped = (
  { imageLocks, imageAttachments }: Root,
  locked: readonly LockedImage[],
  changed: readonly LockedAttachments[],
): readonly LockedAttachments[] => {
  const digestIn = (pinned: string): string => pinned.slice(pinned.lastIndexOf('@') + 1);
  const now = new Map([...imageLocks, ...locked.map(({ image, after }) => [image, after] as const)]);
  const used = new Set([...[...now.values()].map(digestIn), ...changed.map(({ image }) => image)]);
  return locked.flatMap(({ before, after }) => {
    const old = before === undefined || before === after ? '' : digestIn(before);
    return isDigest(old) && imageAttachments.has(old) && !used.has(old)
      ? [{ image: old, attachments: undefined }]
      : [];
  });
};

/** @throws FleetError USAGE for a chart that no deployment target uses */
const renewChart = (update: LockOptions['update'], charts: readonly string[]): ((key: string) => boolean) => {
  if (update === 'all') return () => true;
  const foreign = update.find((one) => isChartKey(one) && !charts.includes(one));
  if (foreign === undefined) return (key) => update.includes(key);
  throw new FleetError('USAGE', `no deployment target is made of ${foreign}`, {
    hint:
      charts.length > 0
        ? `There are ${charts.slice(0, 5).join(', ')}`
        : 'No target names a chart from elsewhere',
  });
};

/** @throws FleetError USAGE for a mistyped name, which would otherwise update nothing without an error */
const renewOf = (
  update: LockOptions['update'],
  images: readonly string[],
): ((reference: string) => boolean) => {
  if (update === 'all') return () => true;
  const known = new Set(images.map(normaliseImageName));
  const wanted = new Set(update.map(normaliseImageName));
  const foreign = update.find((image) => !known.has(normaliseImageName(image)));
  if (foreign !== undefined) {
    throw new FleetError('USAGE', `no manifest runs ${foreign}`, {
      hint:
        images.length > 0
          ? `There are ${images.slice(0, 5).join(', ')}`
          : 'No manifest names an image by tag',
    });
  }
  return (reference) => wanted.has(reference);
};
