/** A UUID above all that were made here before. */
export function newId(): string;
/** Base of all errors of this client; each message is one sentence. */
export class ThriftyError extends Error {
    /** @param {string} message */
    constructor(message: string);
}
/** The client has found a mistake, and has sent nothing. */
export class InvalidInput extends ThriftyError {
}
/** There was no answer. */
export class Unreachable extends ThriftyError {
}
/** The service has refused a request, or what came is not its answer to this request. */
export class ServiceError extends ThriftyError {
    /**
     * @param {string} message
     * @param {{status: number, where?: string}} about status of HTTP, and the part of the request
     */
    constructor(message: string, { status, where }: {
        status: number;
        where?: string;
    });
    status: number;
    where: string;
}
/** A connection to a service. */
export class Client {
    /**
     * @param {string} url of the service, such as http://127.0.0.1:8080; in a page "/" is its own
     * @param {{token?: string, timeout?: number, retries?: number}} [options]
     *   token: as `thrifty tokens make` has printed it. timeout: seconds for each attempt, 10 by
     *   default. retries: attempts after the first, 5 by default; all together take at most
     *   (retries + 1) * timeout seconds, and the last of them its own timeout
     */
    constructor(url: string, options?: {
        token?: string;
        timeout?: number;
        retries?: number;
    });
    /** All experiments that are not archived. @returns {Promise<Line[]>} */
    experiments(): Promise<Line[]>;
    /**
     * Make an experiment.
     *
     * @param {string} name
     * @param {Partial<Settings>} settings contexts: listed ones, with their arms; or dimension: how
     *   many features arms will have. policy, noise, rewards, seed, expire: as for the service
     * @returns {Promise<Experiment>}
     */
    create(name: string, settings: Partial<Settings>): Promise<Experiment>;
    /** An experiment by name; nothing is sent. @param {string} name */
    experiment(name: string): Experiment;
    #private;
}
/** An experiment of a service: `client.experiment(name)` makes one. */
export class Experiment {
    /**
     * @param {Connection} connection
     * @param {string} name
     */
    constructor(connection: Connection, name: string);
    name: string;
    /**
     * Choose an arm.
     *
     * @param {Context} context the name of a listed context; or features, a row per arm
     * @param {Asked} [options] names: of the arms. available: names of the arms on offer. id: of the
     *   decision, a new UUID by default
     * @returns {Promise<Decision>}
     */
    choose(context: Context, options?: Asked): Promise<Decision>;
    /**
     * Several decisions at once, all or none; at most 1,000.
     *
     * @param {(string | Features | Request)[]} contexts of each the name or the features, or an
     *   object with context or features, and perhaps names, available and id
     * @returns {Promise<Decision[]>}
     */
    chooseMany(contexts: (string | Features | Request)[]): Promise<Decision[]>;
    /**
     * Report the reward of a decision, or of its id: `learned`, or `already` if it was known.
     *
     * @param {Decision | string} decision
     * @param {number | boolean} reward
     * @returns {Promise<Learned>}
     */
    learn(decision: Decision | string, reward: number | boolean): Promise<Learned>;
    /**
     * Report pairs of a decision and its reward, all or none; at most 1,000.
     *
     * @param {[Decision | string, number | boolean][]} rewards
     * @returns {Promise<Learned[]>}
     */
    learnMany(rewards: [Decision | string, number | boolean][]): Promise<Learned[]>;
    /**
     * Why an arm was chosen, with the present estimates, and what became of the decision.
     *
     * @param {Decision | string} decision
     * @returns {Promise<Explanation>}
     */
    explain(decision: Decision | string): Promise<Explanation>;
    /** Settings, counts, estimates and history. @returns {Promise<Info>} */
    info(): Promise<Info>;
    /**
     * Change policy, expire, status, or arms and contexts, all or nothing.
     *
     * @param {Change} changes
     * @returns {Promise<Info>}
     */
    change(changes: Change): Promise<Info>;
    /** Take no decisions until `resume`; rewards are still learned. @returns {Promise<Info>} */
    pause(): Promise<Info>;
    /** Take decisions again. @returns {Promise<Info>} */
    resume(): Promise<Info>;
    /** End the experiment; its log stays. @returns {Promise<Info>} */
    archive(): Promise<Info>;
    /**
     * All entries of the log after a sequence number, in order, a page at a time.
     *
     * @param {number} [after]
     * @returns {AsyncGenerator<LogEntry, void, void>}
     */
    log(after?: number): AsyncGenerator<LogEntry, void, void>;
    #private;
}
export type Schemas = import("./openapi.d.ts").components["schemas"];
/**
 * An arm to play, and why.
 */
export type Decision = Schemas["DecisionReply"];
/**
 * A decision, its reward, and why it was taken.
 */
export type Explanation = Schemas["DecisionDetail"];
/**
 * Settings, counts, estimates and history.
 */
export type Info = Schemas["ExperimentReply"];
/**
 * An experiment in the list of all.
 */
export type Line = Schemas["ExperimentLine"];
/**
 * A change of an experiment.
 */
export type Change = Schemas["ExperimentChange"];
/**
 * Of a new experiment.
 */
export type Settings = Omit<Schemas["NewExperiment"], "name">;
/**
 * An entry of an experiment's log.
 */
export type LogEntry = Schemas["LogEntry"];
/**
 * A row per arm.
 */
export type Features = ArrayLike<ArrayLike<number>>;
/**
 * Of a visitor, by name.
 */
export type Attributes = {
    [attribute: string]: unknown;
};
/**
 * The name of a listed one, or features.
 */
export type Context = string | Features | Attributes;
/**
 * Beside the context.
 */
export type Asked = {
    names?: string[];
    available?: string[];
    id?: string;
};
/**
 * Of many.
 */
export type Request = {
    context?: string | Attributes;
    features?: Features;
} & Asked;
export type Learned = "learned" | "already";
/**
 * A request, and how its reply is read
 */
export type Call<T> = {
    method: string;
    path: string;
    /**
     * throws Mismatch or TypeError for the reply to something else
     */
    read: (reply: any) => T;
    body?: unknown;
    /**
     * whether making it twice does the same as once; true by default
     */
    repeatable?: boolean | undefined;
};
/**
 * An attempt that has failed
 */
export type Failure = {
    /**
     * what to throw if it was the last
     */
    error: ThriftyError;
    /**
     * whether there may be another one
     */
    again: boolean;
    /**
     * seconds to wait before it, at least
     */
    least: number;
};
/** Where the service is, and what to do about each outcome of a request. */
declare class Connection {
    /**
     * @param {string} url
     * @param {{token?: string, timeout?: number, retries?: number}} options
     */
    constructor(url: string, { token, timeout, retries }: {
        token?: string;
        timeout?: number;
        retries?: number;
    });
    url: string;
    timeout: number;
    retries: number;
    /**
     * Send a request, perhaps several times, and read the reply.
     *
     * @template T
     * @param {Call<T>} call
     * @returns {Promise<T>}
     */
    send<T>(call: Call<T>): Promise<T>;
    #private;
}
export {};
