import type { JsonPath } from './json-path.ts';

/** An image that a mapping has in parts. Names of its fields. */
export type ImageParts = {
  /** The mappings. */
  readonly in: JsonPath;
  readonly registry: string | undefined;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
};

/** Fields of one kind, whatever its version. */
export type KindFields = {
  /** 'monitoring.coreos.com'; '' is the core of Kubernetes. */
  readonly group: string;
  readonly kind: string;
  readonly paths: readonly JsonPath[];
  readonly parts: readonly ImageParts[];
};

/** What an ImageFields object says: where images stand that no pod template names. In patterns `*` is any run of characters. */
export type ImageFields = {
  readonly fields: readonly KindFields[];
  /** Names of a container's environment variables that hold images. */
  readonly env: readonly string[];
  /** Options among a container's `args` and `command` that name one: '--reloader-image'. */
  readonly args: readonly string[];
  /** Annotations of an object or a pod template. */
  readonly annotations: readonly string[];
  readonly notImages: {
    readonly fields: readonly Omit<KindFields, 'parts'>[];
    readonly env: readonly string[];
    /** Images that a chart's own list names and nobody needs, as it writes them. */
    readonly charts: readonly string[];
  };
};
