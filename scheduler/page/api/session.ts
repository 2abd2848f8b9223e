/** The bearer token, kept while this tab is open. Never part of a URL, because URLs are logged and shared. */
const KEY = 'fleet-ferry-token';

/** The token of a person who may decide. A reader's token may not. */
const DECIDER = 'fleet-ferry-decider';

export const readToken = (): string | null => sessionStorage.getItem(KEY);
export const keepToken = (token: string): void => {
  change = null;
  sessionStorage.setItem(KEY, token);
};
export const dropToken = (): void => {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(DECIDER);
};

export const readDecider = (): string | null => sessionStorage.getItem(DECIDER);
export const keepDecider = (token: string): void => sessionStorage.setItem(DECIDER, token);
export const dropDecider = (): void => sessionStorage.removeItem(DECIDER);

/** CSRF token of GET /v1/me, sent with each write of a session. The session itself is in an HttpOnly cookie. */
let csrf: string | null = null;
export const keepCsrf = (given: string | null): void => {
  csrf = given;
};
export const readCsrf = (): string | null => csrf;

/** Id of the change that the view was read at, or that the stream of changes sent last. Of several answers the first counts. */
let change: string | null = null;
export const keepFirstChange = (id: string | null): void => {
  change ??= id;
};
export const keepChange = (id: string): void => {
  change = id;
};
export const readChange = (): string | null => change;
