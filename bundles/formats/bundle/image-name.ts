import { type Digest, isDigest } from '../../digest.ts';

/** Normal form of an image name. */
export type ImageName = {
  /** 'docker.io', 'registry.example:5000', '[::1]:5000', 'localhost'; in lower case. */
  readonly host: string;
  /** 'library/nginx' */
  readonly path: string;
  readonly tag: string | undefined;
  readonly digest: Digest | undefined;
};

/** Docker Hub: the host of names without one. Its old name still appears in configurations. */
const HUB = 'docker.io';
const OLD_HUB = 'index.docker.io';
/** The namespace of names without one on Docker Hub. */
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
 * Parses an image name as Docker, containerd and CRI-O do (distribution/reference, ParseNormalizedNamed), so that all spellings of
 * one image give one result. Stricter where two readers could see different images: the host is lower-cased, and a host with
 * upper-case letters needs a dot or a port, or is localhost; a port has no leading zero; a digest is SHA-256.
 * @returns undefined when the text is not an image name
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

/** 'docker.io/library/nginx:latest', for a name without a digest. */
const taggedName = (name: ImageName): string => `${repositoryOf(name)}:${name.tag ?? DEFAULT_TAG}`;

/** 'docker.io/library/nginx@sha256:...' with a digest, which takes precedence; otherwise with the tag. */
export const formatImageName = (name: ImageName): string =>
  name.digest === undefined ? taggedName(name) : `${repositoryOf(name)}@${name.digest}`;

/** Returns the normal form of an image name, any other text unchanged. */
export const normaliseImageName = (text: string): string => {
  const name = parseImageName(text);
  return name ? formatImageName(name) : text;
};
