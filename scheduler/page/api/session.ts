/** The bearer token, for as long as this tab is open. It is in no address: those are logged and passed on. */
const KEY = 'fleet-ferry-token';

export const readToken = (): string | null => sessionStorage.getItem(KEY);
export const keepToken = (token: string): void => sessionStorage.setItem(KEY, token);
export const dropToken = (): void => sessionStorage.removeItem(KEY);
