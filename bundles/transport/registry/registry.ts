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

/** A manifest as a registry gave it, its digest verified. */
export type FetchedManifest = { readonly descriptor: Descriptor; readonly bytes: Buffer };

/**
 * One repository (OCI distribution spec 1.1). Every method retries what is worth it (connections cut, 429 and 5xx with
 * Retry-After, bounded) and then throws REGISTRY_UNREACHABLE, REGISTRY_DENIED or REGISTRY_REFUSED.
 */
export type Repository = {
  /** For messages: 'registry.example:5000/factory/fleet/prod/line'. */
  readonly name: string;
  /** What a tag or digest names, by one HEAD; undefined when there is no such thing. */
  readonly resolve: (reference: string, signal?: AbortSignal) => Promise<Descriptor | undefined>;
  /** @throws FleetError also TOO_LARGE and DIGEST_MISMATCH: a registry may lie */
  readonly fetchManifest: (reference: string, signal?: AbortSignal) => Promise<FetchedManifest | undefined>;
  /**
   * Blobs and, where a digest is no blob, manifests. A stream that is cut goes on by a ranged request from where it
   * stopped, if the registry can. Not verified, as every BlobSource.
   */
  readonly blobs: BlobSource;
  /** Tags, all pages, sorted bytewise. */
  readonly tags: (signal?: AbortSignal) => Promise<readonly string[]>;
  /**
   * Uploads unless it is there: mounted from another repository of this registry where that is said to have it, in
   * chunks otherwise, resumed where the registry says how far it came.
   * @param open the content from its start; called again when an upload has to begin anew
   * @param options mountFrom: a path below the registry's prefix, as `repository()` takes it
   * @returns how it was sent, for measurements
   */
  readonly pushBlob: (
    blob: { readonly digest: Digest; readonly size: number },
    open: () => Promise<AsyncIterable<Uint8Array>>,
    options?: { readonly mountFrom?: string | undefined; readonly signal?: AbortSignal },
  ) => Promise<'there' | 'mounted' | 'uploaded'>;
  /** Puts a manifest under a tag, or under its digest alone. Its blobs must be there. */
  readonly pushManifest: (
    reference: string,
    manifest: { readonly mediaType: string; readonly bytes: Uint8Array },
    signal?: AbortSignal,
  ) => Promise<void>;
  /** Removes a tag, leaving what it names. Registries that cannot delete tags refuse: REGISTRY_REFUSED. */
  readonly removeTag: (tag: string, signal?: AbortSignal) => Promise<void>;
  /** Referrers of a manifest by the referrers API or the fallback tag (OCI distribution spec 1.1, "Listing Referrers"). */
  readonly referrers: (digest: Digest, signal?: AbortSignal) => Promise<readonly Descriptor[]>;
};

/** A registry with one connection pool and one memory of tokens. */
export type Registry = AsyncDisposable & {
  readonly address: RegistryAddress;
  /** @param path below the prefix: 'prod/line' */
  readonly repository: (path: string) => Repository;
  /** Paths below the prefix of all repositories, sorted; undefined where the registry does not tell. */
  readonly repositories: (signal?: AbortSignal) => Promise<readonly string[] | undefined>;
};

/** A pause between two tries. */
export type Pause = {
  readonly ms: number;
  /** That long was asked for. */
  readonly asked: boolean;
  /** Who is waited for, where that is known: not always the registry itself. */
  readonly host?: string | undefined;
};

/** How to reach registries; the same for all programs. */
export type RegistryOptions = {
  /** 'host[:port]' that may be spoken to without TLS; loopback always may. */
  readonly plainHttp: readonly string[];
  /** PEM certificates that are trusted beside the system's. */
  readonly ca?: string | undefined;
  /** A docker or podman auth file; without it the usual places are looked at. */
  readonly authFile?: string | undefined;
  /** HTTPS_PROXY, NO_PROXY, HOME, DOCKER_CONFIG, REGISTRY_AUTH_FILE, XDG_RUNTIME_DIR; read nowhere else. */
  readonly env: NodeJS.ProcessEnv;
  /** Called before each pause between two tries. */
  readonly onWait?: ((pause: Pause) => void) | undefined;
  /** Milliseconds; for tests of retries. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** How often one request is tried in all, 5 unless said; who asks again by himself says less. */
  readonly tries?: number | undefined;
  /** Milliseconds before the second try, 500 unless said; each wait is twice the last. */
  readonly firstDelay?: number | undefined;
  /** Milliseconds that only go forward, to see how fast a line is. */
  readonly clock?: (() => number) | undefined;
  /** 0 up to 1, for the jitter of the delays. */
  readonly random?: (() => number) | undefined;
  /**
   * Milliseconds until a connection, the head of an answer or the next piece of its body counts as hung; `idle`: how long a
   * connection that nobody uses is kept for the next request.
   */
  readonly patience?:
    | { readonly connect?: number; readonly headers?: number; readonly body?: number; readonly idle?: number }
    | undefined;
};
