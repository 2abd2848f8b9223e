/**
 * A real container image without any registry: static busybox, all its applets, and a page that its web server serves.
 * The same busybox and options give the same bytes, so the same digest.
 */
import { chmod, copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Descriptor, encodeManifest } from '../../../bundles/formats/layout/manifest.ts';
import { canonicalBytes } from '../../../bundles/json/canonical.ts';
import { type Digest, digestOf } from '../../../bundles/digest.ts';
import {
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '../../../bundles/formats/layout/layout.ts';
import { DOCKER_CONFIG, DOCKER_MANIFEST, OCI_CONFIG, OCI_MANIFEST } from '../../../bundles/media-types.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

export type BusyboxImageOptions = {
  /** As it stands in a manifest, with a tag: 'registry.example/web:1'. */
  readonly name: string;
  /** What `GET /` answers; another text makes another digest. */
  readonly page?: string;
  /** By default the web server, on port 8080 as user 1000. */
  readonly command?: readonly string[];
  /** As Docker pushes it: schema 2, whose layers are compressed. By default an OCI image. */
  readonly form?: 'oci' | 'docker';
};

export type BusyboxImage = {
  readonly name: string;
  /** Of the image manifest. */
  readonly digest: Digest;
  /** 'registry.example/web@sha256:...', which is another name to containerd than the tag is. */
  readonly pinned: string;
  /** The OCI layout that holds it. */
  readonly layout: string;
  /** Writes that layout as a tar, for `ctr images import` and `skopeo copy oci-archive:`. */
  readonly writeArchive: (path: string) => Promise<void>;
};

const SERVE = ['/bin/httpd', '-f', '-p', '8080', '-h', '/www'];
const DEFAULT_PAGE = 'hello\n';
/** This machine's, as images call it. */
export const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/** By this annotation containerd names what it imports. */
export const CONTAINERD_NAME = 'io.containerd.image.name';

/**
 * Adds an image to the OCI layout in `directory`, which is made where there is none.
 * @param busybox parts.busybox
 */
export const makeBusyboxImage = async (
  busybox: string,
  directory: string,
  { name, page = DEFAULT_PAGE, command = SERVE, form = 'oci' }: BusyboxImageOptions,
): Promise<BusyboxImage> => {
  const layout = await openOrStartLayout(directory);
  const put = async (mediaType: string, bytes: Buffer): Promise<Descriptor> => {
    const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.byteLength };
    await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
    return descriptor;
  };
  const root = await packRoot(busybox, page);
  const layer =
    form === 'oci'
      ? await put('application/vnd.oci.image.layer.v1.tar', root)
      : await put('application/vnd.docker.image.rootfs.diff.tar.gzip', gzipSync(root));
  const config = {
    architecture: ARCHITECTURE,
    os: 'linux',
    config: { Cmd: command, Env: ['PATH=/bin'], User: '1000' },
    rootfs: { type: 'layers', diff_ids: [digestOf(root)] },
  };
  const { bytes, descriptor } = encodeManifest({
    schemaVersion: 2,
    mediaType: form === 'oci' ? OCI_MANIFEST : DOCKER_MANIFEST,
    config: await put(form === 'oci' ? OCI_CONFIG : DOCKER_CONFIG, canonicalBytes(config)),
    layers: [layer],
  });
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  const entry = { ...descriptor, annotations: { [CONTAINERD_NAME]: name } };
  await writeLayoutIndex(layout, withReference(layout.manifests, name, entry));
  return {
    name,
    digest: descriptor.digest,
    pinned: `${name.slice(0, name.lastIndexOf(':'))}@${descriptor.digest}`,
    layout: directory,
    writeArchive: async (path) => {
      await runOrFail(['tar', '--create', `--file=${path}`, `--directory=${directory}`, '.']);
    },
  };
};

/** A root file system of busybox: a base that needs no registry. */
export const makeBusyboxRoot = async (busybox: string, root: string, page = DEFAULT_PAGE): Promise<void> => {
  const applets = (await runOrFail([busybox, '--list'])).stdout.split('\n').filter(Boolean);
  for (const folder of ['.', 'bin', 'etc', 'www', 'tmp']) {
    await mkdir(join(root, folder), { recursive: true });
    await chmod(join(root, folder), folder === 'tmp' ? 0o1777 : 0o755);
  }
  await copyFile(busybox, join(root, 'bin/busybox'));
  await chmod(join(root, 'bin/busybox'), 0o755);
  for (const applet of applets) {
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet));
  }
  for (const [path, text] of Object.entries({ ...ETC, 'www/index.html': page })) {
    await writeFile(join(root, path), text);
    await chmod(join(root, path), 0o644);
  }
};

const ETC = {
  'etc/passwd': 'root:x:0:0:root:/:/bin/sh\napp:x:1000:1000:app:/tmp:/bin/sh\n',
  'etc/group': 'root:x:0:\napp:x:1000:\n',
};

const packRoot = async (busybox: string, page: string): Promise<Buffer> => {
  await using folder = await temporaryDirectory('image');
  const root = join(folder.path, 'root');
  const file = join(folder.path, 'layer.tar');
  await makeBusyboxRoot(busybox, root, page);
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=ustar'];
  await runOrFail(['tar', '--create', ...same, `--file=${file}`, `--directory=${root}`, '.']);
  return await readFile(file);
};
