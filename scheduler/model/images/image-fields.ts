import type { JsonPath } from '../json-path.ts';

/** An image whose parts are in several fields of a mapping. Values are field names. */
export type ImageParts = {
  /** Path of the mappings. */
  readonly in: JsonPath;
  readonly registry: string | undefined;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
};

/** Image fields of one kind, in all its versions. */
export type KindFields = {
  /** 'monitoring.coreos.com'; '' is the core group. */
  readonly group: string;
  readonly kind: string;
  readonly paths: readonly JsonPath[];
  readonly parts: readonly ImageParts[];
};

/** An ImageFields object: where image references are outside of pod templates. In patterns `*` matches any characters. */
export type ImageFields = {
  readonly fields: readonly KindFields[];
  /** Names of container environment variables that hold images. */
  readonly env: readonly string[];
  /** Options in a container's `args` and `command` that name an image: '--reloader-image'. */
  readonly args: readonly string[];
  /** Annotations of an object or a pod template. */
  readonly annotations: readonly string[];
  readonly notImages: {
    readonly fields: readonly Omit<KindFields, 'parts'>[];
    readonly env: readonly string[];
    /** Images in a chart's own list that are not needed, as the chart writes them. */
    readonly charts: readonly string[];
  };
};
