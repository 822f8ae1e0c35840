import Advertising
import BluetoothKernel
import Management

extension Adapter {
    /// Begins to advertise; it is on the air when the call returns.
    ///
    /// Any number may be on at a time, as far as the adapter has instances (management `Read Advertising Features`). A
    /// controller without extended advertising sends one at a time; the kernel gives each of them its turn, two seconds
    /// long. Free instances are chosen; those of other programs, or left behind by one that was killed, stay as they are,
    /// see ``removeForeignAdvertising()``.
    ///
    /// A connection ends the advertising that it was made by. It resumes at once, or when the link has ended, as
    /// ``AdvertisingOptions/continuesWhileConnected`` says. Each device that connects finds the published services; for
    /// its ``Connection``, use ``incomingConnections(_:)``. While this program connects to a device, the kernel may pause
    /// advertising. If another program removes the advertisement, as BlueZ's daemon does when it starts, it ends with
    /// `.busy`.
    ///
    /// Through the kernel there are neither directed advertisements nor a choice of channels. Needs CAP_NET_ADMIN.
    /// - Throws: `.invalidArgument` when there is no room for the content or the options are beyond what the specification
    ///   allows, `.unsupported` for what the adapter cannot do, `.busy` when all its instances are taken, `.notPermitted`,
    ///   `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.failed` when the controller refuses, `.timedOut`, `.cancelled`.
    public func advertise(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions()
    ) async throws(BluetoothError) -> AdvertisingSet {
        try checkUsable()
        let operation = operation("advertise")
        if Task.isCancelled { throw .cancelled(operation) }
        try followAdvertising()
        let record = AdvertisingRecord(operation, on: loop)
        let id = advertising.add(content, options, record)
        // Before anybody can connect.
        offersChanged()
        do {
            try await advertisingSettles(id, operation)
        } catch {
            beginToStopAdvertising(id)
            throw error
        }
        return AdvertisingSet(id, record, self)
    }

    /// Advertises while `body` runs, and stops however `body` ends: by returning, throwing, or the task's cancellation.
    public func withAdvertising<Result: Sendable>(
        _ content: AdvertisementContent, options: AdvertisingOptions = AdvertisingOptions(),
        _ body: @Sendable (AdvertisingSet) async throws -> Result
    ) async throws -> Result {
        let set = try await advertise(content, options: options)
        do {
            let result = try await body(set)
            await set.stop()
            return result
        } catch {
            await set.stop()
            throw error
        }
    }

    /// Removes every advertising instance that was not made by this adapter object, and says how many there were.
    ///
    /// The kernel keeps what a program that was killed has advertised, until it is removed or the machine starts again.
    /// What other programs advertise at this moment is removed as well. Needs CAP_NET_ADMIN.
    /// - Throws: `.notPermitted`, `.adapterOff`, `.adapterBlocked`, `.noAdapter`, `.timedOut`, `.cancelled`.
    @discardableResult
    public func removeForeignAdvertising() async throws(BluetoothError) -> Int {
        try checkUsable()
        let features = try await advertisingFeatures()
        var count = 0
        // The kernel does not list all there are, so each number is tried; it says so when there is none.
        for instance in (1...max(1, features.maximumInstances)) where !advertising.instances.contains(instance) {
            do throws(BluetoothError) {
                try await management.sendWhenIdle(.removeAdvertising(instance), to: information.index)
                count += 1
            } catch {
                guard error.cause == .management(.invalidParameters) else { throw error }
            }
        }
        return count
    }

    private func advertisingFeatures() async throws(BluetoothError) -> AdvertisingFeatures {
        let index = information.index
        let reply = try await management.sendWhenIdle(.readAdvertisingFeatures, to: index)
        guard case .advertisingFeatures(let features) = reply else {
            throw .unreadable(operation("read the advertising features"))
        }
        return features
    }

    // MARK: One set

    func updateAdvertising(
        _ id: UInt64, _ content: AdvertisementContent, _ record: AdvertisingRecord
    ) async throws(BluetoothError) {
        if case .ended(let reason) = record.standing.value { throw reason }
        guard let before = advertising[id]?.content else { throw .cancelled(record.operation) }
        advertising[id]?.content = content
        advertising[id]?.isDue = true
        do {
            try await advertisingSettles(id, record.operation)
        } catch {
            // What was said before goes on, unless somebody has said something else meanwhile.
            if advertising[id]?.content == content {
                advertising[id]?.content = before
                // The kernel may have been told; what cannot be said at all it was not.
                if error.code != .invalidArgument { advertising[id]?.isDue = true }
                workOffAdvertising()
            }
            throw error
        }
    }

    func stopAdvertising(_ id: UInt64) async {
        guard let record = advertising[id]?.record else { return }
        beginToStopAdvertising(id)
        // That it was stopped is no error; a cancelled task does not wait.
        try? await advertisingSettles(id, record.operation)
    }

    /// Has the kernel get rid of a set as soon as it can be told.
    func beginToStopAdvertising(_ id: UInt64) {
        guard let entry = advertising[id] else { return }
        endAdvertising(
            id, BluetoothError(.cancelled, entry.record.operation, "The advertisement was stopped by this program."))
        workOffAdvertising()
    }

    /// Ends a set for its user; the kernel is still to be rid of it.
    private func endAdvertising(_ id: UInt64, _ reason: BluetoothError) {
        guard let entry = advertising[id], !entry.isStopping else { return }
        advertising[id]?.isStopping = true
        advertising[id]?.lossTimer = nil
        advertising[id]?.retryTimer = nil
        entry.record.end(reason)
        for waiter in advertising.takeWaiters(of: id) { waiter.fail(reason) }
        offersChanged()
    }

    /// Waits until the kernel has been told of a set.
    private func advertisingSettles(
        _ id: UInt64, _ operation: BluetoothError.Operation
    ) async throws(BluetoothError) {
        let call = PendingCall<Void>()
        advertising[id]?.waiters.removeAll { $0.isResolved }
        advertising[id]?.waiters.append(call)
        workOffAdvertising()
        try await call.value(operation, timeout: nil, on: loop)
    }

    // MARK: Telling the kernel

    /// Tells the kernel what it has to be told, one thing after the other: it is at work on one change at a time.
    private func workOffAdvertising() {
        guard advertising.worker == nil, nextAdvertisingWork != nil else { return }
        advertising.worker = Task(executorPreference: loop) { [self] in await workOff() }
    }

    private func workOff() async {
        while let work = nextAdvertisingWork { await carryOut(work) }
        advertising.worker = nil
    }

    private var nextAdvertisingWork: AdvertisingTable.Work? {
        advertising.next(isReady: end == nil && standing.value.isReady)
    }

    private func carryOut(_ work: AdvertisingTable.Work) async {
        switch work {
        case .add(let id): await add(id)
        case .remove(let id):
            if let instance = advertising[id]?.instance {
                advertising[id]?.instance = nil
                if standing.value.isReady { await remove(instance) } else { advertising.leftovers.insert(instance) }
            }
            let waiters = advertising.takeWaiters(of: id)
            advertising[id] = nil
            for waiter in waiters { waiter.succeed(()) }
        case .removeInstance(let instance): await remove(instance)
        }
    }

    /// Removes an instance; one that is not there any more is no problem.
    private func remove(_ instance: UInt8) async {
        advertising.leftovers.remove(instance)
        do throws(BluetoothError) {
            try await management.sendWhenIdle(.removeAdvertising(instance), to: information.index)
        } catch {
            log.debug("\(error)")
            guard error.cause != .management(.invalidParameters), standing.value != .absent else { return }
            // It may still be on the air, or will be when the adapter is back.
            advertising.leftovers.insert(instance)
            guard standing.value.isReady else { return }
            log.warning("the kernel did not take back advertising instance \(instance): \(error)")
            let timer = loop.makeTimer { [weak self] in
                self?.assumeIsolated { adapter in
                    adapter.advertising.leftoverTimer = nil
                    adapter.workOffAdvertising()
                }
            }
            timer.set(after: Self.advertisingRetryInterval)
            advertising.leftoverTimer = timer
        }
    }

    private func add(_ id: UInt64) async {
        advertising[id]?.isDue = false
        advertising[id]?.lossTimer = nil
        advertising[id]?.retryTimer = nil
        advertising[id]?.hasLinkEnded = false
        do throws(BluetoothError) {
            try await put(id)
            for waiter in advertising.takeWaiters(of: id) { waiter.succeed(()) }
        } catch {
            guard let entry = advertising[id] else { return }
            log.debug("\(error)")
            if !entry.hasBegun {
                endAdvertising(id, error)
            } else if entry.instance == nil, !entry.isStopping, !entry.isDue {
                entry.record.standing.set(.waiting(error))
                if entry.hasLinkEnded { advertising[id]?.isDue = true } else { retryAdvertising(id) }
            }
            for waiter in advertising.takeWaiters(of: id) { waiter.fail(error) }
        }
    }

    /// How long until the kernel is told again what it has refused while there was no link.
    private static let advertisingRetryInterval = Duration.seconds(10)

    /// Tries again what was on the air and was refused. While there are links, the end of one is waited for.
    private func retryAdvertising(_ id: UInt64) {
        let timer = loop.makeTimer { [weak self] in
            self?.assumeIsolated { adapter in
                guard adapter.localServer.connections.isEmpty else { return }
                adapter.advertising[id]?.isDue = true
                adapter.workOffAdvertising()
            }
        }
        timer.set(after: Self.advertisingRetryInterval)
        advertising[id]?.retryTimer = timer
    }

    /// Has the kernel advertise a set, for the first time or again.
    private func put(_ id: UInt64) async throws(BluetoothError) {
        let operation = operation("advertise")
        let index = information.index
        let features = try await advertisingFeatures()
        guard let entry = advertising[id], !entry.isStopping else { return }
        let plan = try AdvertisingPlan(entry.content, entry.options, features, operation)
        let instance: UInt8
        if let own = entry.instance { instance = own } else { instance = try freeInstance(features, operation) }
        advertising[id]?.instance = instance
        do throws(BluetoothError) {
            let parameters = ExtendedAdvertisingInstanceParameters(
                instance: instance, flags: plan.flags, intervals: plan.intervals, transmitPower: plan.transmitPower)
            let answer = try await management.sendWhenIdle(.addExtendedAdvertisingParameters(parameters), to: index)
            guard case .extendedAdvertisingParameters(let limits) = answer else {
                throw BluetoothError.unreadable(operation)
            }
            try await management.sendWhenIdle(
                .addExtendedAdvertisingData(
                    ExtendedAdvertisingInstanceData(
                        instance: instance, advertisingData: plan.payloads.advertising,
                        scanResponse: plan.payloads.scanResponse)), to: index)
            advertising[id]?.hasBegun = true
            let power = features.supportedFlags.contains(.canSetTransmitPower) ? Int(limits.transmitPower) : nil
            entry.record.facts.withLock { ($0.payloads, $0.transmitPower) = (plan.payloads, power) }
            // The kernel may have lost it again meanwhile, with the adapter.
            if advertising[id]?.instance != nil, advertising[id]?.isStopping == false {
                entry.record.standing.set(.advertising)
            }
        } catch {
            // An instance whose change failed is not there any more, or half made.
            if advertising[id]?.instance == instance {
                advertising[id]?.instance = nil
                await remove(instance)
            }
            throw error
        }
    }

    private func freeInstance(
        _ features: AdvertisingFeatures, _ operation: BluetoothError.Operation
    ) throws(BluetoothError) -> UInt8 {
        // Of numbers above the number of instances the kernel lists none; the lowest that is free is below those.
        let taken = advertising.instances.union(features.instances)
        if features.maximumInstances > 0,
            let free = (1...features.maximumInstances).first(where: { !taken.contains($0) })
        {
            return free
        }
        guard features.maximumInstances > 0 else {
            throw BluetoothError(.unsupported, operation, "The adapter has no advertising instances.")
        }
        let own = advertising.instances.count
        throw BluetoothError(
            .busy, operation,
            "All \(features.maximumInstances) advertising instances of the adapter are taken, \(own) of them by this program.",
            remedy: BluetoothError.remedy(
                "Others may be left behind by a program that was killed: removeForeignAdvertising() removes them.",
                orRun: "advertise --clear"),
            isRetryable: true)
    }

    // MARK: What happens

    /// How long an instance that the kernel has lost waits for the adapter to be off, which takes its instances with it.
    private static let powerOffLimit = Duration.seconds(5)

    private func followAdvertising() throws(BluetoothError) {
        guard !advertising.isFollowing else { return }
        let result = management.assumeIsolated { management -> Result<UInt64, BluetoothError> in
            Result { () throws(BluetoothError) in
                try management.follow { [weak self] notice in
                    self?.assumeIsolated { $0.takeAdvertising(notice) }
                }
            }
        }
        _ = try result.get()
        advertising.isFollowing = true
    }

    private func takeAdvertising(_ notice: AdapterNotice) {
        switch notice {
        case .advertisingRemoved(information.index, let instance): advertisingRemoved(instance)
        case .connectedByPeer(information.index):
            // Which of them the device has answered is not told.
            for id in advertising.ids {
                guard let entry = advertising[id], entry.hasBegun, entry.options.kind == .connectable,
                    entry.options.continuesWhileConnected
                else { continue }
                advertising[id]?.isDue = true
            }
            workOffAdvertising()
        case .disconnected(information.index):
            for id in advertising.ids where advertising[id]?.hasBegun == true {
                if advertising[id]?.instance == nil { advertising[id]?.isDue = true }
                advertising[id]?.hasLinkEnded = true
            }
            workOffAdvertising()
        default: break
        }
    }

    /// The kernel has an instance no more. Powering off does that, before the adapter is off, and so do other programs.
    private func advertisingRemoved(_ instance: UInt8) {
        advertising.leftovers.remove(instance)
        guard let id = advertising.id(of: instance) else { return }
        advertising[id]?.instance = nil
        guard advertising[id]?.isStopping == false else { return }
        let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.advertisingIsLost(id) } }
        timer.set(after: Self.powerOffLimit)
        advertising[id]?.lossTimer = timer
    }

    private func advertisingIsLost(_ id: UInt64) {
        guard let entry = advertising[id], entry.instance == nil, !entry.isDue, standing.value.isReady else { return }
        endAdvertising(
            id,
            BluetoothError(
                .busy, entry.record.operation, "Another program has removed the advertisement.",
                remedy: "BlueZ's daemon does so when it starts: begin after it, or stop it.", isRetryable: true))
        workOffAdvertising()
    }

    /// The adapter is off, blocked or away, where its instances go as well.
    func advertisingLeaves(_ reason: BluetoothError, isAbsent: Bool) {
        if isAbsent { advertising.leftovers = [] }
        advertising.leftoverTimer = nil
        for id in advertising.ids {
            guard let entry = advertising[id], !entry.isStopping else { continue }
            if isAbsent { advertising[id]?.instance = nil }
            advertising[id]?.lossTimer = nil
            advertising[id]?.retryTimer = nil
            guard entry.hasBegun, entry.options.whenAdapterLeaves == .resume else {
                endAdvertising(id, reason)
                continue
            }
            entry.record.standing.set(.waiting(reason))
            advertising[id]?.isDue = true
        }
        workOffAdvertising()
    }

    /// The adapter can be used again.
    func advertisingComesBack() {
        workOffAdvertising()
    }

    /// Ends everything because the adapter is being closed, and waits until the kernel knows.
    func stopAllAdvertising() async {
        for id in advertising.ids { beginToStopAdvertising(id) }
        await advertising.worker?.value
    }

    /// Ends everything without the kernel being told.
    func endAllAdvertising(_ reason: BluetoothError) {
        for id in advertising.ids { endAdvertising(id, reason) }
        workOffAdvertising()
    }
}
