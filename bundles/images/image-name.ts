import { type Digest, isDigest } from '../digest.ts';

/** The name of an image in its one normal form. */
export type ImageName = {
  /** 'docker.io', 'registry.example:5000', '[::1]:5000', 'localhost'; in lower case. */
  readonly host: string;
  /** 'library/nginx' */
  readonly path: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};

/** Docker Hub, where a name says no host. Its old name is still written in configurations. */
const HUB = 'docker.io';
const OLD_HUB = 'index.docker.io';
/** The namespace of what has none on Docker Hub. */
const OFFICIAL = 'library/';
const DEFAULT_TAG = 'latest';

const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const HOST = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-f:]+\\])(?::(?:0|[1-9][0-9]{0,4}))?$`);
const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const REST = new RegExp(
  `^(${COMPONENT}(?:/${COMPONENT})*)(?::([a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);
const IDENTIFIER = /^[0-9a-f]{64}$/;
const MAX_PATH = 255;
/** No name in the normal form is longer; the expressions above never read more. */
const MAX_LENGTH = 1024;

/**
 * Reads the name of an image as Docker, containerd and CRI-O do (distribution/reference, ParseNormalizedNamed), so that every
 * spelling of one image gives one result. Stricter than that in what two readers could take for different images: the host is
 * in lower case, and one in upper case needs a dot, a port or to be localhost; a port has no leading zero; a digest is SHA-256.
 * @returns undefined: this is not the name of an image
 */
export const parseImageName = (text: string): ImageName | undefined => {
  if (text.length > MAX_LENGTH || IDENTIFIER.test(text)) return undefined;
  const split = splitHost(text);
  if (!split || !HOST.test(split.host)) return undefined;
  const { host } = split;
  const rest = host === HUB && !split.rest.includes('/') ? `${OFFICIAL}${split.rest}` : split.rest;
  const [, path, tag, digest] = REST.exec(rest) ?? [];
  if (path === undefined || path.length > MAX_PATH) return undefined;
  return { host, path, tag, digest: isDigest(digest) ? digest : undefined };
};

/** The part before the first slash is a host where it cannot be a namespace of Docker Hub. */
const splitHost = (text: string): { readonly host: string; readonly rest: string } | undefined => {
  const slash = text.indexOf('/');
  if (slash === -1) return { host: HUB, rest: text };
  const first = text.slice(0, slash);
  const host = first.toLowerCase();
  const rest = text.slice(slash + 1);
  if (host === OLD_HUB) return { host: HUB, rest };
  if (host === 'localhost' || /[.:]/.test(host)) return { host, rest };
  // 'TEAM/app' in lower case would be another image: team/app on Docker Hub.
  return host === first ? { host: HUB, rest: text } : undefined;
};

/** 'docker.io/library/nginx': without tag and digest. */
export const repositoryOf = ({ host, path }: Pick<ImageName, 'host' | 'path'>): string => `${host}/${path}`;

/** 'docker.io/library/nginx:latest': what a name without a digest stands for. */
const taggedName = (name: ImageName): string => `${repositoryOf(name)}:${name.tag ?? DEFAULT_TAG}`;

/** 'docker.io/library/nginx@sha256:...' where there is a digest, which decides; else with the tag. */
export const formatImageName = (name: ImageName): string =>
  name.digest === undefined ? taggedName(name) : `${repositoryOf(name)}@${name.digest}`;

/** The normal form of an image's name; a text that is none as it is. */
export const normaliseImageName = (text: string): string => {
  const name = parseImageName(text);
  return name ? formatImageName(name) : text;
};
