import type { Descriptor } from '../../formats/layout/manifest.ts';
import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';

/** An OCI registry and the path below which our repositories lie: 'oci://host[:port]/prefix'. */
export type RegistryAddress = {
  /** 'registry.example:5000' */
  readonly host: string;
  /** 'factory/fleet', or '' for none. */
  readonly prefix: string;
};

/** A manifest from a registry, with verified digest. */
export type FetchedManifest = { readonly descriptor: Descriptor; readonly bytes: Buffer };

/**
 * One repository (OCI distribution spec 1.1). Every method retries broken connections, 429 and 5xx within its retry budget, honouring
 * Retry-After, and then throws REGISTRY_UNREACHABLE, REGISTRY_DENIED or REGISTRY_REFUSED.
 */
export type Repository = {
  /** For messages: 'registry.example:5000/factory/fleet/prod/line'. */
  readonly name: string;
  /** Resolves a tag or digest by one HEAD request; undefined for 404. */
  readonly resolve: (reference: string, signal?: AbortSignal) => Promise<Descriptor | undefined>;
  /** @throws FleetError also TOO_LARGE, DIGEST_MISMATCH */
  readonly fetchManifest: (reference: string, signal?: AbortSignal) => Promise<FetchedManifest | undefined>;
  /**
   * Reads blobs, and manifests for digests that are not blobs. A broken stream continues by a range request if the registry supports it.
   * Not verified, like every BlobSource.
   */
  readonly blobs: BlobSource;
  /** Tags, all pages, sorted bytewise. */
  readonly tags: (signal?: AbortSignal) => Promise<readonly string[]>;
  /**
   * Uploads a blob unless it exists: by a mount from another repository of this registry if given, otherwise in resumable chunks.
   * @param open opens the content from its start; called again if an upload starts again
   * @param options mountFrom: a path below the registry's prefix, as `repository()` takes it
   * @returns how it was sent, for measurements
   */
  readonly pushBlob: (
    blob: { readonly digest: Digest; readonly size: number },
    open: () => Promise<AsyncIterable<Uint8Array>>,
    options?: { readonly mountFrom?: string | undefined; readonly signal?: AbortSignal },
  ) => Promise<'there' | 'mounted' | 'uploaded'>;
  /** Stores a manifest under a tag, or by its digest only. Its blobs must exist. */
  readonly pushManifest: (
    reference: string,
    manifest: { readonly mediaType: string; readonly bytes: Uint8Array },
    signal?: AbortSignal,
  ) => Promise<void>;
  /**
   * Removes a tag, but not the manifest that it names. @throws FleetError REGISTRY_REFUSED by registries that cannot delete
   * tags
   */
  readonly removeTag: (tag: string, signal?: AbortSignal) => Promise<void>;
  /** Referrers of a manifest by the referrers API or the fallback tag (OCI distribution spec 1.1, "Listing Referrers"). */
  readonly referrers: (digest: Digest, signal?: AbortSignal) => Promise<readonly Descriptor[]>;
};

/** A registry with one connection pool and one token cache. */
export type Registry = AsyncDisposable & {
  readonly address: RegistryAddress;
  /** @param path below the prefix: 'prod/line' */
  readonly repository: (path: string) => Repository;
  /** Paths of all repositories below the prefix, sorted; undefined if the registry has no catalogue. */
  readonly repositories: (signal?: AbortSignal) => Promise<readonly string[] | undefined>;
};

/** A pause before a retry. */
export type Pause = {
  readonly ms: number;
  /** True if the server requested the pause by Retry-After. */
  readonly asked: boolean;
  /** Milliseconds that the server requested, which `ms` cuts; undefined if it requested none. */
  readonly askedMs?: number;
  /** The host that is waited for, if known; it may be a token server. */
  readonly host?: string | undefined;
};

/** How to reach registries; the same for all programs. */
export type RegistryOptions = {
  /** 'host[:port]' of registries without TLS; loopback never needs it. */
  readonly plainHttp: readonly string[];
  /** Trusted PEM certificates in addition to the system's. */
  readonly ca?: string | undefined;
  /** A docker or podman auth file; undefined: the default locations. */
  readonly authFile?: string | undefined;
  /** HTTPS_PROXY, NO_PROXY, HOME, DOCKER_CONFIG, REGISTRY_AUTH_FILE, XDG_RUNTIME_DIR; read nowhere else. */
  readonly env: NodeJS.ProcessEnv;
  /** Ends every request, also those that are given no signal of their own. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each retry. */
  readonly onWait?: ((pause: Pause) => void) | undefined;
  /** Milliseconds; for tests of retries. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Attempts for one request; default 5, less for callers with retries of their own. */
  readonly tries?: number | undefined;
  /** Milliseconds before the first retry, doubled for each further one; default 500. */
  readonly firstDelay?: number | undefined;
  /** Monotonic milliseconds, to measure the rate of a line. */
  readonly clock?: (() => number) | undefined;
  /** Random number from 0 up to 1, for the jitter of delays. */
  readonly random?: (() => number) | undefined;
  /**
   * Timeouts in milliseconds for a connection, the head of a response, and the next chunk of its body. `idle`: how long an unused connection
   * is kept.
   */
  readonly patience?:
    | { readonly connect?: number; readonly headers?: number; readonly body?: number; readonly idle?: number }
    | undefined;
};
