import { Args, Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { FleetCommand } from '#cli/fleet-command';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { openChartPlaces } from '../load/charts/chart-places.ts';
import { openContentPlaces } from '../assemble/content/download.ts';
import { type ContentsLock, lockContents } from '../build/lock/lock-contents.ts';
import { readConfiguration } from '../settings/configuration.ts';
import { environmentFlag, platformFlags, registryFlags } from '../settings/configuration-flags.ts';
import { layoutPlaces, openImageRegistries, registryPlaces } from '../load/images/image-places.ts';
import type { LockedImage } from '../assemble/images/image-lock.ts';
import { lockPlatform, type PlatformLock } from '../build/lock/lock-platform.ts';
import { platformOptions } from '../load/platform/platform-options.ts';
import { uniqueProblems } from '../model/problems.ts';

export default class ImagesLock extends FleetCommand {
  static override summary =
    'Lock every image tag and every chart of a platform to a digest, in images.lock.yaml beside it';
  static override description =
    `A tag is looked up in the registry that its name says, or in a layout, and what it names is kept: the manifest of the one platform that its cluster types have, or the whole index where they have several. A bundle then runs the same next month.

A chart that a deployment target takes from a registry or a chart repository is locked too, to the digest of its archive, and then rendered to see which images it runs.

The attachments of an image (signatures, attestations and SBOMs, as referrers or under cosign's tags) are locked with it when it is looked up. They travel with the image, and the site's registry has them in the same places.

What the packages of hosts name by address (files, Debian packages, Ansible collections and roles, charts) is fetched into the cache and locked to its SHA-256 and size.

What is locked stays until it is named with --update. Commit the file.`;
  static override examples = [
    '<%= config.bin %> images lock --platform examples/platform',
    '<%= config.bin %> images lock --platform examples/platform --update',
    '<%= config.bin %> images lock registry.example/order-api:2.3.0 --platform examples/platform --update',
    '<%= config.bin %> images lock --platform examples/platform --images ./images',
  ];
  static override args = {
    image: Args.string({
      description:
        'With --update: only this image, as the manifests write it, this chart, as <address>:<version>, or this address of a file',
    }),
  };
  static override flags = {
    ...platformFlags,
    ...registryFlags,
    images: Flags.string({
      description: 'Use this OCI layout and no registry; also `images` of the configuration',
    }),
    environment: environmentFlag('Only images and charts of this environment'),
    update: Flags.boolean({ description: 'Look up locked entries again' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ImagesLock);
    if (args.image !== undefined && !flags.update)
      throw new FleetError('USAGE', 'an image is named without --update', {
        hint: 'Add --update',
      });
    const configuration = await readConfiguration(flags, process.cwd());
    const { environments, images, pullImages } = configuration;
    // If a layout with images is configured and registries are not, images are looked up in that layout.
    const layout = flags.images !== undefined || !pullImages ? images : undefined;
    const access = registryOptions({ ...configuration, env: process.env });
    await using registries = openImageRegistries(access, openRegistry);
    await using charts = openChartPlaces(registries, access);
    const options = {
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...defined({ environments, fleet: flags.fleet }),
      charts: layout === undefined ? charts : undefined,
      update: flags.update ? toUpdate(args.image) : [],
      signal: this.signal,
    };
    await using files = openContentPlaces(options.cacheDirectory, access);
    const contents = await lockContents({ ...options, fetch: files.fetch });
    const isContent = args.image !== undefined && contents.names.includes(args.image);
    const places = layout === undefined ? registryPlaces(registries) : layoutPlaces(await openLayout(layout));
    const lock = joinLocks(isContent ? undefined : await lockPlatform({ ...options, places }), contents);
    this.tell(lock);
    const [first] = [...lock.missing, ...lock.unread];
    if (first) process.exitCode = first.exitCode;
    return {
      ...lock,
      leftOut: lock.leftOut.map((it) => this.toErrorJson(it)),
      missing: lock.missing.map((it) => this.toErrorJson(it)),
      unread: lock.unread.map((it) => this.toErrorJson(it)),
    };
  }

  private tell({
    file,
    images: locked,
    renderers,
    attachments,
    leftOut,
    unused,
    missing,
    unread,
  }: PlatformLock): void {
    for (const one of locked.filter(({ before, after }) => before !== after)) this.log(describeLocked(one));
    for (const { image, attachments: now } of attachments)
      if (now && now.length > 0)
        this.log(`${shortDigest(image)}  ${now.length} beside it: signatures, attestations, SBOMs`);
    for (const [program, version] of renderers) this.log(`${program}  ${version} renders this platform`);
    for (const error of leftOut) this.say(`advice: ${formatError(error)}`);
    for (const one of unused) this.say(`no manifest names ${one}; its line can be removed`);
    for (const error of missing) this.say(formatError(error));
    for (const error of unread) this.say(`not looked at: ${formatError(error)}`);
    const same = locked.filter(({ before, after }) => before === after).length;
    const parts = [
      `${locked.length - same} written`,
      `${same} as before`,
      ...(missing.length > 0 ? [`${missing.length} not found`] : []),
    ];
    this.log(`${file ?? 'images.lock.yaml'}: ${parts.join(', ')}`);
  }
}

const digestIn = (pinned: string): string => pinned.slice(pinned.indexOf('@') + 1).slice(0, 19);

/** 'nginx:1.27  sha256:0123456789ab -> sha256:ba9876543210' */
const describeLocked = ({ image, before, after }: LockedImage): string =>
  `${image}  ${before === undefined ? 'new' : digestIn(before)} -> ${digestIn(after)}`;

/** Combined result for images and files. @param images undefined: not looked up */
const joinLocks = (images: PlatformLock | undefined, contents: ContentsLock): PlatformLock => {
  const files = contents.locked.map(({ name, before, after }) => ({ image: name, before, after }));
  const names = new Set(contents.names);
  return {
    file: images?.file ?? contents.file,
    // A chart may be both a file of a host and the source of an application.
    images: [...(images?.images ?? []).filter(({ image }) => !names.has(image)), ...files],
    renderers: images?.renderers ?? new Map(),
    attachments: images?.attachments ?? [],
    leftOut: images?.leftOut ?? [],
    unused: [...(images?.unused ?? []).filter((one) => !names.has(one)), ...contents.unused],
    missing: [...(images?.missing ?? []), ...contents.missing],
    unread: uniqueProblems([...(images?.unread ?? []), ...contents.unread]),
  };
};

const toUpdate = (image: string | undefined): 'all' | readonly string[] =>
  image === undefined ? 'all' : [image];
